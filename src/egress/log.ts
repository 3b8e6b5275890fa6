// The decision log of one sandbox: the newest lines in memory, and readers who follow.
import type { EgressLogLine } from '../schema/egress.ts';
import type { EgressLogQuery } from './egress.ts';

const KEPT = 1000;
/** Lines that wait for one slow reader. */
const WAITING = 1000;

interface Reader {
  readonly lines: EgressLogLine[];
  wake(): void;
}

export class DecisionLog {
  readonly #lines: EgressLogLine[] = [];
  readonly #readers = new Set<Reader>();
  /** Where the oldest line is, once there are as many as are kept. */
  #oldest = 0;
  #isClosed = false;

  get size(): number {
    return this.#lines.length;
  }

  add(line: EgressLogLine): void {
    if (this.#isClosed) return;
    if (this.#lines.length < KEPT) this.#lines.push(line);
    else {
      this.#lines[this.#oldest] = line;
      this.#oldest = (this.#oldest + 1) % KEPT;
    }
    for (const reader of this.#readers) {
      if (reader.lines.length >= WAITING) reader.lines.shift();
      reader.lines.push(line);
      reader.wake();
    }
  }

  read({ limit = KEPT, decision }: EgressLogQuery = {}): EgressLogLine[] {
    const lines = [...this.#lines.slice(this.#oldest), ...this.#lines.slice(0, this.#oldest)];
    const asked = decision === undefined ? lines : lines.filter((line) => line.decision === decision);
    return limit > 0 ? asked.slice(-limit) : [];
  }

  /** Begins with the next line, also when it is read later. Ends when `signal` aborts or the log closes. */
  follow(signal: AbortSignal): AsyncIterable<EgressLogLine> {
    const reader: Reader = { lines: [], wake: () => undefined };
    this.#readers.add(reader);
    const leave = () => {
      this.#readers.delete(reader);
      reader.wake();
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted || this.#isClosed) leave();
    return this.#linesOf(reader, leave);
  }

  async *#linesOf(reader: Reader, leave: () => void): AsyncGenerator<EgressLogLine> {
    try {
      for (;;) {
        const line = reader.lines.shift();
        if (line) yield line;
        else if (!this.#readers.has(reader)) return;
        else
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
          });
      }
    } finally {
      leave();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#lines.length = 0;
    this.#oldest = 0;
    for (const reader of [...this.#readers]) {
      this.#readers.delete(reader);
      reader.wake();
    }
  }
}
