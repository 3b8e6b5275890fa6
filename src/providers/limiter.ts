// Limits concurrent calls. Further calls wait in order, up to a limit in number and time (docs/design/reliability.md#bounds).
import { ServiceError } from '../domain/errors.ts';
import type { Clock, Timer } from '../domain/ports.ts';

export interface Limiter {
  /** Runs `work` when there is room. Rejects with the signal's reason when it aborts while waiting. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export interface LimiterBounds {
  atOnce: number;
  /** Maximum number of waiting calls; further ones fail with `unavailable`. */
  waiting: number;
  /** How long a call waits before it fails with `unavailable`. */
  waitMs: number;
  /** The error of a rejected call; "Too many sandboxes are being started." by default. */
  busy?: () => ServiceError;
}

export function limiter(clock: Clock, { atOnce, waiting, waitMs, busy = tooBusy }: LimiterBounds): Limiter {
  const queue: (() => void)[] = [];
  let running = 0;
  const release = () => {
    const next = queue.shift();
    if (next) next();
    else running--;
  };
  return {
    run: async (work, signal) => {
      signal.throwIfAborted();
      if (running < atOnce) running++;
      else if (queue.length >= waiting) throw busy();
      else await turn(queue, signal, (leave) => clock.after(waitMs, () => leave(busy())));
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

function turn(
  queue: (() => void)[],
  signal: AbortSignal,
  limit: (leave: (reason: unknown) => void) => Timer,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      timer.cancel();
      signal.removeEventListener('abort', aborted);
    };
    const mine = () => {
      done();
      resolve();
    };
    const leave = (reason: unknown) => {
      done();
      queue.splice(queue.indexOf(mine), 1);
      reject(reason);
    };
    const aborted = () => leave(signal.reason);
    const timer = limit(leave);
    queue.push(mine);
    signal.addEventListener('abort', aborted, { once: true });
  });
}

function tooBusy(): ServiceError {
  return new ServiceError('unavailable', 'Too many sandboxes are being started.', {
    remedy: 'Try again in a moment.',
    retryAfterMs: 1000,
  });
}
