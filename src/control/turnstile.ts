// Keeps what many do at once from being one long stop of the event loop, and what one does much of from being in front of
// everybody else: those who wait pass by turns, one of each line. Nobody is limited: a lone line passes as fast as the
// event loop goes, and what others bring in the meantime is seen between two turns of it.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../domain/ports.ts';

/** Of each turn; what has begun by then is the only thing that lasts longer. */
const SHARE_MS = 5;

export class Turnstile {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** When the share began that is being used up. */
  #since: number;
  /** A new share begins in the next turn. */
  #isOver = false;
  /** Somebody has passed whose work may only begin with a promise. */
  #isPassing = false;
  /** Whoever is next stands in the first line, which then goes behind the others. */
  readonly #lines = new Map<string, (() => void)[]>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** As `enter`, for who goes on behind an `await`. */
  pass(line = ''): Promise<void> {
    return new Promise((resolve) => this.enter(line, () => this.#let(resolve)));
  }

  /**
   * Calls `go` at once while less than 5 ms have gone by since a turn gave out a share, else in a later turn: in order of
   * arrival within `line`, and by turns between lines. What counts is the work that is done before it next waits.
   */
  enter(line: string, go: () => void): void {
    if (!this.#isPassing && this.#lines.size === 0 && this.#hasRoom()) {
      go();
      return;
    }
    const waiting = this.#lines.get(line);
    if (waiting) waiting.push(go);
    else this.#lines.set(line, [go]);
  }

  #let(go: () => void): void {
    if (!this.#isPassing) this.#letAlone();
    go();
  }

  /** Nobody else passes until all promises are through that wait by then, with those that they settle. */
  #letAlone(): void {
    this.#isPassing = true;
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#isPassing = false;
        this.#next();
      }),
    );
  }

  #next(): void {
    const [first] = this.#lines;
    if (this.#isPassing || !first || !this.#hasRoom()) return;
    const [line, waiting] = first;
    const go = waiting.shift();
    this.#lines.delete(line);
    if (waiting.length > 0) this.#lines.set(line, waiting);
    if (go) this.#let(go);
  }

  /** Shares end by the clock, not by the turn: a call asks the event loop for nothing while there is room. */
  #hasRoom(): boolean {
    if (this.#isOver) return false;
    if (this.#clock.monotonic() - this.#since < SHARE_MS) return true;
    this.#isOver = true;
    void setImmediate().then(() => {
      this.#isOver = false;
      this.#since = this.#clock.monotonic();
      this.#next();
    });
    return false;
  }
}
