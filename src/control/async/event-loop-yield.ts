// Keeps what many do at once from being one long stop of the event loop, and what one does much of from being in front of
// everybody else: those who wait pass by rounds, one of each line in a round. Nobody is limited: a lone line passes as fast
// as the event loop goes, and what others bring in the meantime is seen between two turns of it.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../domain/ports.ts';

/** Of each turn; what has begun by then is the only thing that lasts longer. Everybody who waits for bytes waits as long. */
export const SHARE_MS = 1;

type Lines = Map<string, (() => void)[]>;

export class EventLoopYield {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** When the share began that is being used up. */
  #since: number;
  /** A new share begins in the next turn. */
  #isOver = false;
  /** Somebody has passed whose work may only begin with a promise. */
  #isPassing = false;
  /** Lines of which none has passed in this round; whoever is next stands in the first. */
  #now: Lines = new Map();
  /** Those of which one has. */
  #later: Lines = new Map();
  readonly #passed = new Set<string>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** As `enter`, for who goes on behind an `await`. */
  pass(line = ''): Promise<void> {
    return new Promise((resolve) => this.enter(line, () => this.#let(resolve)));
  }

  /**
   * Calls `go` at once while less than 1 ms has gone by since a turn gave out a share, else in a later turn: in order of
   * arrival within `line`, and by rounds between lines. What counts is the work that is done before it next waits.
   */
  enter(line: string, go: () => void): void {
    if (!this.#isPassing && !this.#hasWaiting && this.#hasRoom()) {
      this.#passed.add(line);
      go();
      return;
    }
    const waiting = this.#now.get(line) ?? this.#later.get(line);
    if (waiting) waiting.push(go);
    else (this.#passed.has(line) ? this.#later : this.#now).set(line, [go]);
  }

  get #hasWaiting(): boolean {
    return this.#now.size > 0 || this.#later.size > 0;
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
    if (this.#isPassing || !this.#hasWaiting || !this.#hasRoom()) return;
    if (this.#now.size === 0) this.#beginRound();
    const [first] = this.#now;
    if (!first) return;
    const [line, waiting] = first;
    const go = waiting.shift();
    this.#now.delete(line);
    this.#passed.add(line);
    if (waiting.length > 0) this.#later.set(line, waiting);
    if (go) this.#let(go);
  }

  #beginRound(): void {
    [this.#now, this.#later] = [this.#later, this.#now];
    this.#passed.clear();
  }

  /** Shares end by the clock, not by the turn: a call asks the event loop for nothing while there is room. */
  #hasRoom(): boolean {
    if (this.#isOver) return false;
    if (this.#clock.monotonic() - this.#since < SHARE_MS) return true;
    this.#isOver = true;
    void setImmediate().then(() => {
      this.#isOver = false;
      this.#since = this.#clock.monotonic();
      if (this.#hasWaiting) this.#next();
      else this.#passed.clear();
    });
    return false;
  }
}
