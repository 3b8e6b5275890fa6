// Retries calls that the server refused temporarily with a Retry-After, if repeating them is safe.
import { ServiceError } from '../domain/errors.ts';
import { realClock } from '../host/clock.ts';

export interface RetryTerms {
  /** Includes the first attempt. */
  attempts: number;
  /** No attempt starts later than this after the first. */
  totalMs: number;
}

export const RETRY: RetryTerms = { attempts: 10, totalMs: 120_000 };

export interface Repeatable {
  /** The call is idempotent. */
  isSafe: boolean;
  signal?: AbortSignal | undefined;
}

/** The first result or lasting failure, otherwise the last refusal. Makes one attempt without `terms`. */
export async function retried<T>(
  terms: RetryTerms | undefined,
  { isSafe, signal }: Repeatable,
  attempt: () => Promise<T>,
): Promise<T> {
  const clock = realClock();
  const end = clock.monotonic() + (terms?.totalMs ?? 0);
  for (let left = terms?.attempts ?? 1; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      const pause = left > 1 ? pauseAfter(error, isSafe) : undefined;
      if (pause === undefined || clock.monotonic() + pause > end) throw error;
      await clock.sleep(pause, signal);
    }
  }
}

/** Undefined if a retry is useless or unsafe. */
function pauseAfter(error: unknown, isSafe: boolean): number | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const wasRefused = error.status === 429 || error.status === 503;
  const isUndone = error.details?.nothing_done === true;
  return isUndone || (isSafe && wasRefused) ? error.retryAfterMs : undefined;
}
