// A queue between a program that writes and a client that reads. Small pieces are joined to lines of up to 64 KiB. A
// reader that stops costs at most this much memory: the program then waits.
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

  /** Starts reading at once. A source that fails just ends: the exit of the exec carries the error. */
  constructor(source: AsyncIterable<OutputChunk>) {
    void this.#pump(source);
  }

  /** True when nothing is left and nothing will come. */
  get over(): boolean {
    return this.#ended && this.#pieces.length === 0;
  }

  /** The next up to 64 KiB of one channel, in the order of writing; undefined when nothing is there now. */
  take(): OutputChunk | undefined {
    const first = this.#pieces.shift();
    if (!first) return undefined;
    const data = first.data.length > LINE_BYTES ? this.#cut(first) : this.#joined(first);
    this.#bytes -= data.length;
    this.#wakeWriter?.();
    return { channel: first.channel, data };
  }

  /** Resolves when there is something to take or the queue is over. For one reader. */
  ready(): Promise<void> {
    if (this.#pieces.length > 0 || this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wakeReader = resolve;
    });
  }

  /** Stops the pump: nobody takes any more. */
  stop(): void {
    this.#stopped = true;
    this.#wakeWriter?.();
  }

  #cut({ channel, data }: OutputChunk): Buffer {
    this.#pieces.unshift({ channel, data: data.subarray(LINE_BYTES) });
    return data.subarray(0, LINE_BYTES);
  }

  /** Joins the following pieces that fit. A piece of a fast stream nearly fills a line and needs no copy. */
  #joined({ channel, data }: OutputChunk): Buffer {
    const parts = [data];
    let size = data.length;
    for (let next = this.#pieces[0]; next?.channel === channel; next = this.#pieces[0]) {
      if (size + next.data.length > LINE_BYTES) break;
      this.#pieces.shift();
      parts.push(next.data);
      size += next.data.length;
    }
    return parts.length === 1 ? data : Buffer.concat(parts, size);
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
      // The exit of the exec reports it.
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
