// Joins calls of one process: what arrives while a call runs waits, and the next call takes it together. So a commit is shared
// by all that wait for it, and a caller alone does not wait.
import type { Clock, Timer } from '../../domain/ports.ts';

export interface JoinedOptions<Order, Answer> {
  clock: Clock;
  /** Calls at once. */
  atOnce: number;
  /** Orders of one call. */
  most: number;
  /** Maximum number of orders that wait; further ones are rejected with `busy`. */
  waiting: number;
  /** How long an order waits before it is rejected with `busy`. */
  waitMs: number;
  busy(): Error;
  /** Orders with the same key are not in the same call. */
  keyOf(order: Order): string | undefined;
  /** One answer for each order, which fails alone. If the call itself fails, all of its orders do. */
  run(orders: readonly Order[]): Promise<Promise<Answer>[]>;
}

interface Waiting<Order, Answer> {
  order: Order;
  key: string | undefined;
  timer: Timer;
  resolve(answer: Promise<Answer>): void;
  reject(error: unknown): void;
}

export class Joined<Order, Answer> {
  readonly #options: JoinedOptions<Order, Answer>;
  readonly #waiting: Waiting<Order, Answer>[] = [];
  #running = 0;

  constructor(options: JoinedOptions<Order, Answer>) {
    this.#options = options;
  }

  /** `isFirst`: it goes ahead of those that wait, as it waited before. */
  add(order: Order, isFirst = false): Promise<Answer> {
    const { clock, waiting, waitMs, busy, keyOf } = this.#options;
    if (this.#waiting.length >= waiting) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      const timer = clock.after(waitMs, () => {
        this.#waiting.splice(this.#waiting.indexOf(one), 1);
        reject(busy());
      });
      const one = { order, key: keyOf(order), timer, resolve, reject };
      if (isFirst) this.#waiting.unshift(one);
      else this.#waiting.push(one);
      // Orders of the same turn of the event loop go together.
      queueMicrotask(() => void this.#next());
    });
  }

  async #next(): Promise<void> {
    if (this.#running >= this.#options.atOnce || this.#waiting.length === 0) return;
    this.#running++;
    const taken = this.#take();
    try {
      const answers = await this.#options.run(taken.map(({ order }) => order));
      for (const [at, { resolve }] of taken.entries()) resolve(answers[at]!);
      await Promise.allSettled(answers);
    } catch (error) {
      for (const { reject } of taken) reject(error);
    } finally {
      this.#running--;
      // Behind the callers that now add their next orders.
      queueMicrotask(() => void this.#next());
    }
  }

  #take(): Waiting<Order, Answer>[] {
    const keys = new Set<string>();
    const taken: Waiting<Order, Answer>[] = [];
    for (let at = 0; at < this.#waiting.length && taken.length < this.#options.most; ) {
      const one = this.#waiting[at]!;
      if (one.key !== undefined && keys.has(one.key)) at++;
      else {
        if (one.key !== undefined) keys.add(one.key);
        one.timer.cancel();
        taken.push(one);
        this.#waiting.splice(at, 1);
      }
    }
    return taken;
  }
}
