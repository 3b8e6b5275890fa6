// Repeats calls that the server refused temporarily with a Retry-After, and calls whose connection was lost, if repeating
// them is safe.
import { ServiceError } from '../domain/errors.ts';
import { realClock } from '../host/clock.ts';

export interface RetryTerms {
  /** Includes the first attempt. */
  attempts: number;
  /** No attempt starts later than this after the first. */
  totalMs: number;
}

export const RETRY: RetryTerms = { attempts: 10, totalMs: 120_000 };
/** Pauses after lost connections: a server that restarts is back within these, or the caller decides. */
const LOST_PAUSES_MS = [100, 300, 900];

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
  let losses = 0;
  for (let left = terms?.attempts ?? 1; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      const isLost = isSafe && isLostConnection(error, losses);
      const pause = isLost ? LOST_PAUSES_MS[losses] : pauseAfter(error, isSafe);
      if (isLost) losses += 1;
      if (left <= 1 || pause === undefined || clock.monotonic() + pause > end) throw error;
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

const LOST = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** A refused connection counts only after a lost one: it says that no server was there at all. */
function isLostConnection(error: unknown, losses: number): boolean {
  if (!(error instanceof ServiceError) || error.code !== 'unavailable') return false;
  const code = String((error.cause as { code?: unknown } | undefined)?.code);
  return LOST.has(code) || (losses > 0 && code === 'ECONNREFUSED');
}
