// Splits bytes that arrive in pieces of any size into lines. Splitting works on bytes, so that a character in two pieces stays
// in one line. A line has a bound.
import { setImmediate } from 'node:timers/promises';
import { ByteBlocks } from './byte-blocks.ts';

const NEWLINE = 10;
/** A piece of 64 KiB may hold as many lines as bytes: their cost is spread over turns of the event loop. */
const LINES_PER_TURN = 500;

export interface LineBound {
  /** The longest line, without its end. */
  bytes: number;
  /** The error for a longer one. */
  tooLong(): Error;
}

export class LineSplitter {
  readonly #bound: LineBound;
  #waiting = new ByteBlocks();
  #size = 0;

  constructor(bound: LineBound) {
    this.#bound = bound;
  }

  /** Each line that `piece` completes, without its end. */
  *take(piece: Buffer): Generator<Buffer> {
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      const line = this.#completed(piece.subarray(from, end));
      from = end + 1;
      yield line;
    }
    this.#append(piece.subarray(from));
  }

  /** The bytes behind the last line end. */
  rest(): Buffer {
    const blocks = this.#waiting;
    this.#waiting = new ByteBlocks();
    this.#size = 0;
    return Buffer.concat(blocks.taken());
  }

  #completed(last: Buffer): Buffer {
    if (this.#size === 0 && last.length <= this.#bound.bytes) return last;
    this.#append(last);
    return this.rest();
  }

  #append(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size > this.#bound.bytes) throw this.#bound.tooLong();
    this.#waiting.append(bytes);
  }
}

/** Each line in order, without its end. Bytes behind the last line end come last. Errors of the source pass. */
export async function* byteLines(source: AsyncIterable<Buffer>, bound: LineBound): AsyncGenerator<Buffer> {
  const lines = new LineSplitter(bound);
  let count = 0;
  for await (const piece of source)
    for (const line of lines.take(piece)) {
      yield line;
      if (++count % LINES_PER_TURN === 0) await setImmediate();
    }
  const rest = lines.rest();
  if (rest.length > 0) yield rest;
}
