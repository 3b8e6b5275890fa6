// Repeats a copy that broke off, as long as each attempt gets further.
import { ServiceError } from '../../domain/errors.ts';
import { realClock } from '../../host/clock.ts';

const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 500;

/**
 * Calls `attempt` until it returns: again after a lost connection, at most five times in a row without progress. `progress`
 * is a number that grows with what was copied.
 */
export async function resumed<T>(
  attempt: (isRepeat: boolean) => Promise<T>,
  progress: () => number,
  signal: AbortSignal,
): Promise<T> {
  let seen = progress();
  for (let failures = 0, isRepeat = false; ; isRepeat = true) {
    try {
      return await attempt(isRepeat);
    } catch (error) {
      failures = progress() > seen ? 1 : failures + 1;
      seen = progress();
      await pauseAfter(error, failures, signal);
    }
  }
}

/** The parts of `first`, and after a lost connection those of `rest` from the byte on at which it was lost. */
export async function* resumedParts(
  first: AsyncIterable<Buffer>,
  rest: (done: number, lost: unknown) => AsyncIterable<Buffer>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let [done, failures, parts] = [0, 0, first];
  for (;;) {
    const before = done;
    try {
      for await (const part of parts) {
        done += part.length;
        yield part;
      }
      return;
    } catch (error) {
      failures = done > before ? 1 : failures + 1;
      await pauseAfter(error, failures, signal);
      parts = rest(done, error);
    }
  }
}

/** Throws `error` unless the next attempt may succeed. */
async function pauseAfter(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
  const isLost = error instanceof ServiceError && error.code === 'unavailable';
  if (!isLost || signal.aborted || failures >= ATTEMPTS) throw error;
  await realClock().sleep(FIRST_PAUSE_MS * 2 ** (failures - 1), signal);
}
