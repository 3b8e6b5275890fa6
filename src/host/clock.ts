// Time as it is. Timers of Node fire at once when asked for more than 2^31-1 ms; here longer ones are chained.
import { uptime } from 'node:os';
import type { Abort } from '../domain/abort.ts';
import type { Boot, Clock, Timer } from '../domain/ports.ts';

const LONGEST_MS = 2 ** 31 - 1;

/** The machine's clocks. `after` lets the process end before its timer; `sleep` keeps it alive, somebody awaits it. */
export function realClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    // Timers of a browser are numbers, and keep nothing alive.
    after: (ms, run) => startTimer(ms, run, (handle) => handle.unref?.()),
    sleep,
  };
}

/** `id` as the kernel says it. clock_gettime(2), CLOCK_BOOTTIME */
export function realBoot(id: string): Boot {
  return { id, elapsedMs: () => uptime() * 1000 };
}

/** A `ms` that is not a number counts as 0. */
function startTimer(ms: number, run: () => void, onHandle: (handle: NodeJS.Timeout) => void): Timer {
  let handle: NodeJS.Timeout;
  const due = performance.now() + Math.max(0, ms || 0);
  const arm = () => {
    const left = due - performance.now();
    handle = left > LONGEST_MS ? setTimeout(arm, LONGEST_MS) : setTimeout(run, Math.max(0, left));
    onHandle(handle);
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
}

function sleep(ms: number, signal?: Abort): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const wake = () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    const timer = startTimer(ms, wake, () => {});
    signal?.addEventListener('abort', abort, { once: true });
  });
}
