// An external call with a deadline and a caller's abort: it settles at most a second after either, whatever the call does.
import type { ServiceError } from '../domain/errors.ts';
import type { Clock, Timer } from '../domain/ports.ts';

/** How long a call may take to settle after its abort; less than the promised second. */
const GRACE_MS = 900;

export interface Bounds {
  ms: number;
  /** Makes the error for an expired deadline. */
  expired(): ServiceError;
  signal: AbortSignal;
}

/**
 * Runs `call` with a signal that aborts at the deadline or with `signal`; the first cause is the reason. The outcome of a
 * call that settles within the grace period counts, a success included. A later one is abandoned: rejects with the
 * cause, and a late result goes to `late`.
 */
export async function withinDeadline<T>(
  clock: Clock,
  bounds: Bounds,
  call: (signal: AbortSignal) => Promise<T>,
  late: (value: T) => void = () => undefined,
): Promise<T> {
  bounds.signal.throwIfAborted();
  const stop = new AbortController();
  const abort = () => stop.abort(bounds.signal.reason);
  bounds.signal.addEventListener('abort', abort, { once: true });
  const timer = clock.after(bounds.ms, () => stop.abort(bounds.expired()));
  let givenUp = false;
  const giveUp = afterAbort(clock, stop.signal, () => {
    givenUp = true;
  });
  const work = (async () => call(stop.signal))();
  work.then(
    (value) => givenUp && late(value),
    () => undefined,
  );
  try {
    return await Promise.race([work, giveUp.promise]);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    timer.cancel();
    giveUp.cancel();
    bounds.signal.removeEventListener('abort', abort);
  }
}

function afterAbort(
  clock: Clock,
  signal: AbortSignal,
  note: () => void,
): { promise: Promise<never>; cancel(): void } {
  let timer: Timer | undefined;
  let onAbort = () => {};
  const promise = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      timer = clock.after(GRACE_MS, () => {
        note();
        reject(signal.reason);
      });
    };
  });
  signal.addEventListener('abort', onAbort, { once: true });
  const cancel = () => {
    signal.removeEventListener('abort', onAbort);
    timer?.cancel();
  };
  return { promise, cancel };
}
