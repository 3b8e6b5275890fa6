// Waiting no longer than one can.
import type { Clock } from '../../domain/ports.ts';

/** True when `work` resolves within `ms`, false when it rejects or takes longer: then it goes on by itself. */
export function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.after(ms, () => resolve(false));
    const end = (worked: boolean) => () => {
      timer.cancel();
      resolve(worked);
    };
    work.then(end(true), end(false));
  });
}
