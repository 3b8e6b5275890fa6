// Reads of one socket into memory that is used again: a fresh buffer for each read keeps the collector of garbage busier than the
// bytes keep the kernel.
import type { OnReadOpts } from 'node:net';

const LARGE = 64 * 1024;
/** A connection that carries little holds little. */
const SMALL = 4 * 1024;
const MOST_SPARE = 2;

export class Reads {
  /** For `connect`; it does not belong to another socket. */
  readonly options: OnReadOpts;
  /** What came before somebody wanted it. */
  #early: Buffer[] = [];
  #sink: ((chunk: Buffer) => void) | undefined;
  #isLarge = false;
  readonly #spare: ArrayBuffer[] = [];

  constructor() {
    this.options = {
      buffer: () => this.#next(),
      callback: (size, bytes) => this.#came(size, bytes as Buffer),
    };
  }

  /** Hands everything that is read to `sink`. The memory of a chunk is its own until it is given to `again`. */
  take(sink: (chunk: Buffer) => void): void {
    this.#sink = sink;
    for (const chunk of this.#early) sink(chunk);
    this.#early = [];
  }

  /** Nobody uses the chunk any more. Chunks for which this is never called are left to the collector. */
  again({ buffer, byteOffset }: Buffer): void {
    if (buffer.byteLength === LARGE && byteOffset === 0 && this.#spare.length < MOST_SPARE)
      this.#spare.push(buffer as ArrayBuffer);
  }

  #next(): Buffer {
    if (!this.#isLarge) return Buffer.allocUnsafeSlow(SMALL);
    const spare = this.#spare.pop();
    return spare ? Buffer.from(spare) : Buffer.allocUnsafeSlow(LARGE);
  }

  #came(size: number, bytes: Buffer): boolean {
    // A full buffer says that there is more.
    this.#isLarge = size >= SMALL;
    const chunk = bytes.subarray(0, size);
    if (this.#sink) this.#sink(chunk);
    else this.#early.push(chunk);
    return true;
  }
}
