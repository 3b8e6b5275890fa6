// Keeps large JSON bodies from filling memory together: two at a time hold a place from their first byte until the
// answer is out, the rest wait in the order they came. Nothing of a waiting body is read.
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';

/** JSON bodies above this need a place. */
export const LARGE_BODY = 1024 * 1024;

const MAX_WAIT_MS = 60_000;
const MAX_WAITING = 64;

export interface BodyGate {
  /** Resolves with the function that gives the place back (harmless when called twice). Throws `unavailable` when too
   *  many wait or the wait is over, and the signal's reason when it aborts. */
  enter(signal: AbortSignal): Promise<() => void>;
}

export function bodyGate(clock: Clock, places = 2): BodyGate {
  let free = places;
  const waiting: (() => void)[] = [];
  const leave = () => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  const place = () => {
    let held = true;
    return () => {
      if (held) leave();
      held = false;
    };
  };
  return {
    async enter(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return place();
      }
      if (waiting.length >= MAX_WAITING) throw crowded();
      await turn(waiting, clock, signal);
      return place();
    },
  };
}

/** Waits for a place that is handed over: it never becomes free in between, so nobody overtakes. */
function turn(waiting: (() => void)[], clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      timer.cancel();
      signal.removeEventListener('abort', abort);
    };
    const wake = () => {
      settle();
      resolve();
    };
    const giveUp = (reason: unknown) => {
      waiting.splice(waiting.indexOf(wake), 1);
      settle();
      reject(reason);
    };
    const abort = () => giveUp(signal.reason);
    const timer = clock.after(MAX_WAIT_MS, () => giveUp(crowded()));
    signal.addEventListener('abort', abort, { once: true });
    waiting.push(wake);
  });
}

function crowded(): ServiceError {
  return new ServiceError('unavailable', 'Too many large bodies are on their way.', {
    remedy: 'Try again, or send the file as application/octet-stream.',
    retryAfterMs: 5_000,
  });
}
