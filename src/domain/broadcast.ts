// Hands values to its readers. Each has a bounded queue of its own.
const WAITING = 1000;

interface Reader<T> {
  readonly values: T[];
  wake(): void;
}

export class Broadcast<T> {
  readonly #readers = new Set<Reader<T>>();
  #isClosed = false;

  get readers(): number {
    return this.#readers.size;
  }

  /** A reader that is 1,000 values behind misses the oldest. */
  add(value: T): void {
    for (const reader of this.#readers) {
      if (reader.values.length >= WAITING) reader.values.shift();
      reader.values.push(value);
      reader.wake();
    }
  }

  /** Begins with the next value, also when it is read later. Ends when `signal` aborts or this closes; `left` is called then. */
  follow(signal: AbortSignal, left: () => void = () => undefined): AsyncIterable<T> {
    const reader: Reader<T> = { values: [], wake: () => undefined };
    this.#readers.add(reader);
    const leave = () => {
      if (this.#readers.delete(reader)) left();
      reader.wake();
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted || this.#isClosed) leave();
    return this.#valuesOf(reader, leave);
  }

  async *#valuesOf(reader: Reader<T>, leave: () => void): AsyncGenerator<T> {
    try {
      for (;;) {
        const value = reader.values.shift();
        if (value !== undefined) yield value;
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
    for (const reader of [...this.#readers]) {
      this.#readers.delete(reader);
      reader.wake();
    }
  }
}
