// Limits how much work runs at once. Further work waits in order; bounds limit how much and how long
// (docs/design/reliability.md#bounds).
import { ServiceError } from './errors.ts';
import type { Clock } from './ports.ts';

export interface WaitBounds {
  clock: Clock;
  /** Maximum number of waiting calls; further ones fail with `unavailable`. */
  waiting: number;
  /** How long a call waits before it fails with `unavailable`. */
  waitMs: number;
  /** The error of a rejected call; "Too many sandboxes are being started." by default. */
  busy?: () => ServiceError;
}

export class ConcurrencyLimit {
  readonly #atOnce: number;
  readonly #bounds: WaitBounds | undefined;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  /** `bounds` is absent only for background work: any number of calls then waits for any time. */
  constructor(atOnce: number, bounds?: WaitBounds) {
    this.#atOnce = atOnce;
    this.#bounds = bounds;
  }

  /** Runs `work` when there is room. Rejects with the signal's reason when it aborts while waiting. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#running < this.#atOnce) this.#running++;
    else await this.#turn(this.#bounds, signal);
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next) next();
      else this.#running--;
    }
  }

  #turn(bounds: WaitBounds | undefined, signal: AbortSignal | undefined): Promise<void> {
    const { busy = tooBusy } = bounds ?? {};
    if (bounds && this.#queue.length >= bounds.waiting) throw busy();
    return new Promise((resolve, reject) => {
      const done = () => {
        timer?.cancel();
        signal?.removeEventListener('abort', aborted);
      };
      const mine = () => {
        done();
        resolve();
      };
      const leave = (reason: unknown) => {
        done();
        this.#queue.splice(this.#queue.indexOf(mine), 1);
        reject(reason);
      };
      const aborted = () => leave(signal?.reason);
      const timer = bounds?.clock.after(bounds.waitMs, () => leave(busy()));
      this.#queue.push(mine);
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }
}

function tooBusy(): ServiceError {
  return new ServiceError('unavailable', 'Too many sandboxes are being started.', {
    remedy: 'Try again in a moment.',
    retryAfterMs: 1000,
  });
}
