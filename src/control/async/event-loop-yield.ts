// Yields to the event loop between calls, so that many calls do not block it and one busy caller does not delay the
// others. Waiting calls run in rounds, one per line in each round. Nothing is limited: a single line runs as fast as
// the event loop goes, and new calls are seen between two turns.
import type { Clock } from '../../domain/ports.ts';

/** The length of a turn; only work that has started may exceed it. Everyone who waits for bytes waits that long. */
export const SHARE_MS = 1;

type Lines = Map<string, (() => void)[]>;

export class EventLoopYield {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** When the first call of this turn of the event loop came; undefined before. */
  #since: number | undefined;
  /** A call has passed whose work starts with a promise. */
  #isPassing = false;
  /** Lines that have not had a call in this round; the next call is in the first. */
  #now: Lines = new Map();
  /** Lines that have had a call in this round. */
  #later: Lines = new Map();
  readonly #passed = new Set<string>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** The same as `enter`, for a caller that continues after an `await`. */
  pass(line = ''): Promise<void> {
    return new Promise((resolve) => this.enter(line, () => this.#let(resolve)));
  }

  /**
   * Calls `go` at once while less than 1 ms of the turn is used, else in a later turn: in order of arrival within
   * `line`, in rounds between lines. The work before its next wait counts.
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

  /** Lets no other call pass until all promises that wait by then, and those that they settle, have run. */
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

  /** A turn begins with its first call and ends by the clock: while there is room a call costs the event loop nothing. */
  #hasRoom(): boolean {
    const now = this.#clock.monotonic();
    this.#since ??= this.#begin(now);
    return now - this.#since < SHARE_MS;
  }

  #begin(now: number): number {
    setImmediate(() => {
      this.#since = undefined;
      if (this.#hasWaiting) this.#next();
      else this.#passed.clear();
    });
    return now;
  }
}
