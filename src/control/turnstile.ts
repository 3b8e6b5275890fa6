// Keeps what many do at once from being one long stop of the event loop: all that waited for the same commit go on in one
// turn.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../domain/ports.ts';

/** Of each turn; what has begun by then is the only thing that lasts longer. */
const SHARE_MS = 5;

export class Turnstile {
  readonly #clock: Clock;
  /** When somebody first passed in this turn of the event loop. */
  #since: number | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Resolves in order of arrival: while those who passed in this turn have taken less than 5 ms at once, else in a later
   * one. What counts is the work that is done before the caller next waits.
   */
  pass(): Promise<void> {
    const mine = this.#last.then(() => this.#turn());
    // Resolves when who awaits `mine` has gone on.
    this.#last = mine.then(() => undefined);
    return mine;
  }

  async #turn(): Promise<void> {
    if (this.#since !== undefined && this.#clock.monotonic() - this.#since >= SHARE_MS) await setImmediate();
    if (this.#since !== undefined) return;
    this.#since = this.#clock.monotonic();
    void setImmediate().then(() => {
      this.#since = undefined;
    });
  }
}
