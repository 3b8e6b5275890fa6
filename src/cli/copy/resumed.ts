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
      const isLost = error instanceof ServiceError && error.code === 'unavailable';
      failures = progress() > seen ? 1 : failures + 1;
      seen = progress();
      if (!isLost || signal.aborted || failures >= ATTEMPTS) throw error;
      await realClock().sleep(FIRST_PAUSE_MS * 2 ** (failures - 1), signal);
    }
  }
}
