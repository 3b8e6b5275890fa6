// Lines on their way to a slow reader: bounded, in order, one write at a time. What does not fit is dropped and counted,
// and the count is told as soon as there is room; the service never waits for its log.

/** Writes text; resolves when it is taken, rejects when the reader is gone for good. */
export type LineSink = (text: string) => Promise<void>;

interface Options {
  sink: LineSink;
  /** The line that tells of `count` dropped ones. */
  announce(count: number): string;
  /** Characters that may wait; 1 Mi unless given. */
  maxWaiting?: number | undefined;
}

const MAX_WAITING = 1024 * 1024;
const MAX_WRITE = 64 * 1024;

export class LineQueue {
  readonly #options: Options;
  #waiting: string[] = [];
  #size = 0;
  #dropped = 0;
  #gone = false;
  #writing: Promise<void> | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Takes a line, or drops it when too much waits. Nothing more is taken once the sink failed. */
  push(line: string): void {
    if (this.#gone) return;
    if (this.#size + line.length > (this.#options.maxWaiting ?? MAX_WAITING)) this.#dropped += 1;
    else this.#add(line);
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when everything is written or the sink failed. */
  async drained(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#gone) {
      await this.#options.sink(this.#take()).catch(() => {
        this.#gone = true;
      });
      if (this.#waiting.length === 0) this.#tellDropped();
    }
    this.#writing = undefined;
  }

  #tellDropped(): void {
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
