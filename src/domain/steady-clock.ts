// A wall clock that continues evenly when the real one is set, until it follows: stored deadlines must be moved first,
// and nothing may be compared with them in between.
import type { Clock } from './ports.ts';

export interface SteadyClock extends Clock {
  /** From now on `now` returns the time of the real clock. */
  follow(): void;
  /** From now on `now` returns so much more, or less. */
  move(ms: number): void;
}

export function steadyClock(real: Clock): SteadyClock {
  let ahead = 0;
  const follow = () => {
    ahead = real.now() - real.monotonic();
  };
  const move = (ms: number) => {
    ahead += ms;
  };
  follow();
  return { ...real, now: () => Math.round(real.monotonic() + ahead), follow, move };
}
