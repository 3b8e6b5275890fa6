// Between a program that writes and a client that reads: small pieces are joined to lines of up to 64 KiB, and a reader
// that stops costs no more than this much memory: the program then waits.
import type { OutputChunk } from '../../agent/io.ts';

const LINE_BYTES = 64 * 1024;
const HELD_BYTES = 2 * LINE_BYTES;

export class OutputQueue {
  readonly #pieces: OutputChunk[] = [];
  #bytes = 0;
  #ended = false;
  #stopped = false;
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;

  /** Begins to read at once. A source that fails just ends: the exec's exit says why. */
  constructor(source: AsyncIterable<OutputChunk>) {
    void this.#pump(source);
  }

  /** Nothing is left and nothing will come. */
  get over(): boolean {
    return this.#ended && this.#pieces.length === 0;
  }

  /** The next up to 64 KiB of one channel, in the order of writing; undefined when there is nothing now. */
  take(): OutputChunk | undefined {
    const first = this.#pieces.shift();
    if (!first) return undefined;
    const parts = [first.data];
    let size = first.data.length;
    for (
      let next = this.#pieces[0];
      next?.channel === first.channel && size < LINE_BYTES;
      next = this.#pieces[0]
    ) {
      this.#pieces.shift();
      parts.push(next.data);
      size += next.data.length;
    }
    const data = parts.length === 1 ? first.data : Buffer.concat(parts, size);
    if (size > LINE_BYTES) this.#pieces.unshift({ channel: first.channel, data: data.subarray(LINE_BYTES) });
    this.#bytes -= Math.min(size, LINE_BYTES);
    this.#wakeWriter?.();
    return { channel: first.channel, data: data.subarray(0, LINE_BYTES) };
  }

  /** Resolves when there is something to take or it is over. For one reader. */
  ready(): Promise<void> {
    if (this.#pieces.length > 0 || this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wakeReader = resolve;
    });
  }

  /** Nobody takes any more. */
  stop(): void {
    this.#stopped = true;
    this.#wakeWriter?.();
  }

  async #pump(source: AsyncIterable<OutputChunk>): Promise<void> {
    try {
      for await (const piece of source) {
        if (this.#stopped) break;
        this.#pieces.push(piece);
        this.#bytes += piece.data.length;
        this.#wakeReader?.();
        while (this.#bytes >= HELD_BYTES && !this.#stopped) await this.#room();
      }
    } catch {
      // Told by the exec's exit.
    } finally {
      this.#ended = true;
      this.#wakeReader?.();
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
    });
  }
}
