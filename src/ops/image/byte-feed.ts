// Bytes from chunks of any size, taken in the portions that a format asks for.
import { ServiceError } from '../../domain/errors.ts';

export class ByteFeed {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Exactly `count` bytes; undefined when the source has ended right here. Throws `bad_request` when it ends within. */
  async take(count: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    for await (const part of this.stream(count, true)) parts.push(part);
    return parts.length === 0 && count > 0 ? undefined : Buffer.concat(parts);
  }

  /** The next `count` bytes as they come. Throws `bad_request` when the source ends before. */
  async *stream(count: number, mayBeOver = false): AsyncGenerator<Buffer> {
    let left = count;
    while (left > 0) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#chunks.next();
        if (done && mayBeOver && left === count) return;
        if (done) throw cutOff();
        this.#rest = value;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      if (part.length > 0) yield part;
    }
  }

  /** Ends the source, which may not be at its end. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

export function cutOff(): ServiceError {
  return new ServiceError('bad_request', 'The archive is cut off.', {
    remedy: 'Make it again; what was made of it is removed.',
  });
}
