// Polls until something has ended.
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';

const PATIENCE_MS = 10_000;
const LONGEST_PAUSE_MS = 50;

/** Polls with a growing pause: a killed process usually ends within two milliseconds. Throws `unavailable` after ten seconds. */
export async function pollUntil(
  clock: Clock,
  isDone: () => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (let pause = 1; !(await isDone()); pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    if (clock.monotonic() > deadline)
      throw new ServiceError('unavailable', 'The sandbox did not end in time.', {
        remedy: 'Destroy it again.',
      });
    await clock.sleep(pause, signal);
  }
}
