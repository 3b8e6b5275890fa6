// A bounded queue of lines for a slow reader, written in order, one write at a time. Drops and counts lines that do not fit,
// and logs the count as soon as there is room. The service never waits for its log.

/** Resolves when the text is written; rejects when the reader has closed the output. */
export type LineSink = (text: string) => Promise<void>;

interface Options {
  sink: LineSink;
  /** The line that reports `count` dropped lines. */
  announce(count: number): string;
  /** Maximum waiting characters; 1 Mi by default. */
  maxWaiting?: number | undefined;
}

const MAX_WAITING = 1024 * 1024;
const MAX_WRITE = 64 * 1024;

export class LineQueue {
  readonly #options: Options;
  #waiting: string[] = [];
  #size = 0;
  #dropped = 0;
  #failed = false;
  #writing: Promise<void> | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Queues a line, or drops it when the queue is full or the sink has failed. */
  push(line: string): void {
    if (this.#failed) return;
    if (this.#size + line.length > (this.#options.maxWaiting ?? MAX_WAITING)) this.#dropped += 1;
    else this.#add(line);
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when everything is written or the sink has failed. */
  async drained(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#failed) {
      await this.#options.sink(this.#take()).catch(() => {
        this.#failed = true;
      });
      if (this.#waiting.length === 0) this.#reportDropped();
    }
    this.#writing = undefined;
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    this.#add(this.#options.announce(this.#dropped));
    this.#dropped = 0;
  }

  #add(line: string): void {
    this.#waiting.push(line);
    this.#size += line.length;
  }

  /** The oldest lines, at least one, as one text. */
  #take(): string {
    let count = 0;
    for (let length = 0; count < this.#waiting.length && length < MAX_WRITE; count++) {
      length += this.#waiting[count]?.length ?? 0;
    }
    const text = this.#waiting.splice(0, count).join('');
    this.#size -= text.length;
    return text;
  }
}
