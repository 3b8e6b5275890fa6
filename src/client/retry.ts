// What is sent again by itself: calls that the server refused for the moment, saying when to come back, where nothing can
// be done twice by it.
import { ServiceError } from '../domain/errors.ts';
import { realClock } from '../host/clock.ts';

export interface RetryTerms {
  /** The first one counts. */
  attempts: number;
  /** No attempt begins later than this after the first. */
  totalMs: number;
}

export const RETRY: RetryTerms = { attempts: 10, totalMs: 120_000 };

export interface Repeatable {
  /** Done twice it is as done once. */
  isSafe: boolean;
  signal?: AbortSignal | undefined;
}

/** The first answer that is no refusal for the moment, or the last refusal. Without `terms` there is one attempt. */
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

/** Undefined for what would not go better, or might be done twice. */
function pauseAfter(error: unknown, isSafe: boolean): number | undefined {
  if (!(error instanceof ServiceError) || (error.status !== 429 && error.status !== 503)) return undefined;
  return isSafe || error.details?.nothing_done === true ? error.retryAfterMs : undefined;
}
