// Bounds on work by time. Each function cancels its timer when the work settles, so that no timer keeps a process alive.
import type { Abort } from './abort.ts';
import type { Clock } from './ports.ts';

export interface Timeout {
  clock: Clock;
  ms: number;
  /** Makes the reason of the abort. */
  error: () => Error;
  /** Aborts the work as well, with its own reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs `work` with a signal that aborts after `ms`, or with `signal`. Settles when `work` settles: for work that may ignore
 * its signal use `orAfter`, or `withinDeadline` of the providers.
 */
export async function withTimeout<T>(
  { clock, ms, error, signal }: Timeout,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = clock.after(ms, () => late.abort(error()));
  try {
    return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
  } finally {
    timer.cancel();
  }
}

/**
 * The result of `work`, or of `late()` after `ms`; `late` may throw. The work continues, and its later failure is
 * ignored.
 */
export function orAfter<T, L>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: Promise<T>,
  late: () => L,
): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    });
    const settle =
      <V>(settled: (value: V) => void) =>
      (value: V) => {
        timer.cancel();
        settled(value);
      };
    work.then(settle(resolve), settle(reject));
  });
}

/** The result of `work`, or the signal's reason when it aborts first. The work continues for its other callers. */
export function abortable<T>(work: Promise<T>, signal: Abort): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    // Also after an abort: a later failure of the work is ignored.
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
