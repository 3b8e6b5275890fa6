// Real time that runs faster: deadlines of seconds pass in milliseconds, beside real sockets and servers.
import type { Clock } from '../../../src/domain/ports.ts';
import { realClock } from '../../../src/host/clock.ts';
import { FAKE_START } from './ports.ts';

/** `factor` 1 is real time. The wall clock stands still, so that stamps are known. */
export function quickClock(factor = 1): Clock {
  const clock = realClock();
  return {
    now: () => FAKE_START,
    monotonic: () => clock.monotonic() * factor,
    after: (ms, run) => clock.after(ms / factor, run),
    sleep: (ms, signal) => clock.sleep(ms / factor, signal),
  };
}
