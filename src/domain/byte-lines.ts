// Lines out of bytes that arrive in pieces of any size. Cutting is done on bytes, so that a character in two pieces stays in
// one line; a line has a bound; and what many short lines cost is spread over turns of the event loop.
import { setImmediate } from 'node:timers/promises';
import { ByteBlocks } from './byte-blocks.ts';

const NEWLINE = 10;
/** A piece of 64 KiB may hold as many lines as bytes. */
const LINES_PER_TURN = 500;

export interface LineBound {
  /** Of one line, its end not counted. */
  bytes: number;
  /** What is thrown for a longer one. */
  tooLong(): Error;
}

/** Each line in order, without its end; what follows the last end comes last when it is not empty. The source's errors pass. */
export async function* byteLines(
  source: AsyncIterable<Buffer>,
  { bytes: most, tooLong }: LineBound,
): AsyncGenerator<Buffer> {
  let waiting = new ByteBlocks();
  let size = 0;
  let count = 0;
  for await (const piece of source) {
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      if (size + end - from > most) throw tooLong();
      yield size === 0 ? piece.subarray(from, end) : joined(waiting, piece.subarray(from, end));
      [waiting, size, from] = [new ByteBlocks(), 0, end + 1];
      if (++count % LINES_PER_TURN === 0) await setImmediate();
    }
    size += piece.length - from;
    if (size > most) throw tooLong();
    waiting.append(piece.subarray(from));
  }
  if (size > 0) yield Buffer.concat(waiting.taken());
}

function joined(before: ByteBlocks, last: Buffer): Buffer {
  before.append(last);
  return Buffer.concat(before.taken());
}
