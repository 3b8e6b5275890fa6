// Closes connections without traffic. Resetting a timer for every chunk would cost more than the chunk, so the time is
// checked only when the timer fires.
import type { Clock, Timer } from './ports.ts';

export interface Watch {
  /** Something moved. */
  touch(): void;
  stop(): void;
}

/** Calls `silent` once, `ms` to twice `ms` after the last touch, unless stopped. */
export function idleTimeout(clock: Clock, ms: number, silent: () => void): Watch {
  let isTouched = true;
  let timer: Timer;
  const look = () => {
    if (!isTouched) return silent();
    isTouched = false;
    timer = clock.after(ms, look);
  };
  look();
  return {
    touch: () => {
      isTouched = true;
    },
    stop: () => timer.cancel(),
  };
}
