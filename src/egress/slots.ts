// Slots for connections: of one sandbox, and of all together. A connection that finds none waits in order, for a while.
import type { Clock } from '../domain/ports.ts';
import { EgressRefusal } from './refusal.ts';

const WAIT_MS = 10_000;

interface Waiting {
  enter(): void;
  leave(): void;
}

/** Counts open slots against a bound that may change. */
export class Slots {
  readonly #most: () => number;
  readonly #clock: Clock;
  readonly #queue: Waiting[] = [];
  #open = 0;

  constructor(most: () => number, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
  }

  get open(): number {
    return this.#open;
  }

  get isFull(): boolean {
    return this.#open >= this.#most();
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves with how to leave, which is safe twice. Rejects with `connections` after 10 s, and when `signal` aborts. */
  async take(signal: AbortSignal): Promise<() => void> {
    if (this.isFull || this.#queue.length > 0) await this.#turn(signal);
    else this.#open += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#open -= 1;
      this.admit();
    };
  }

  /** Lets waiting connections in, as far as the bound allows now. */
  admit(): void {
    while (this.#queue.length > 0 && !this.isFull) {
      this.#open += 1;
      this.#queue.shift()?.enter();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = () => {
        timer.cancel();
        signal.removeEventListener('abort', waiting.leave);
      };
      const waiting: Waiting = {
        enter: () => {
          done();
          resolve();
        },
        leave: () => {
          done();
          const at = this.#queue.indexOf(waiting);
          if (at >= 0) this.#queue.splice(at, 1);
          reject(new EgressRefusal('connections'));
        },
      };
      const timer = this.#clock.after(WAIT_MS, waiting.leave);
      if (signal.aborted) return waiting.leave();
      signal.addEventListener('abort', waiting.leave, { once: true });
      this.#queue.push(waiting);
    });
  }
}
