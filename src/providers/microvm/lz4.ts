// LZ4 in its legacy framing, which is what Debian packs kernels in and what Node has not. Blocks of at most 8 MiB, each with
// its length before it and none reaching back into another. (lz4_Frame_format.md; lz4_Block_format.md)
import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '../../domain/errors.ts';

const MAGIC = 0x184c2102;
const BLOCK_BYTES = 8 * 1024 * 1024;
const SHORTEST_MATCH = 4;

interface Cursor {
  packed: Buffer;
  /** Next byte to read. */
  at: number;
  /** End of this block in `packed`. */
  end: number;
  out: Buffer;
  /** Next byte to write. */
  to: number;
  /** Where this block begins in `out`, and where it has to end. */
  first: number;
  limit: number;
}

/** Unpacks exactly `size` bytes; others are given a turn between blocks. Throws `provider_error` for anything else. */
export async function unpackLz4(packed: Buffer, size: number): Promise<Buffer> {
  const out = Buffer.allocUnsafe(size);
  let to = 0;
  for (let at = 0; to < size; ) {
    if (at + 4 > packed.length) throw damaged();
    const head = packed.readUInt32LE(at);
    at += 4;
    if (head === MAGIC) continue;
    if (head === 0 || at + head > packed.length) throw damaged();
    const limit = Math.min(size, to + BLOCK_BYTES);
    to = unpackBlock({ packed, at, end: at + head, out, to, first: to, limit });
    at += head;
    await setImmediate();
  }
  return out;
}

function unpackBlock(cursor: Cursor): number {
  while (cursor.at < cursor.end) {
    const token = next(cursor);
    copyLiterals(cursor, lengthOf(cursor, token >> 4));
    // The last sequence of a block has no match.
    if (cursor.at >= cursor.end) break;
    const offset = next(cursor) | (next(cursor) << 8);
    copyMatch(cursor, offset, lengthOf(cursor, token & 15) + SHORTEST_MATCH);
  }
  return cursor.to;
}

function next(cursor: Cursor): number {
  if (cursor.at >= cursor.end) throw damaged();
  return cursor.packed[cursor.at++] as number;
}

function lengthOf(cursor: Cursor, nibble: number): number {
  let length = nibble;
  for (let more = nibble === 15 ? 255 : 0; more === 255; length += more) more = next(cursor);
  return length;
}

function copyLiterals(cursor: Cursor, length: number): void {
  const { packed, at, end, out, to, limit } = cursor;
  if (at + length > end || to + length > limit) throw damaged();
  if (length > 32) packed.copy(out, to, at, at + length);
  else for (let i = 0; i < length; i++) out[to + i] = packed[at + i] as number;
  cursor.at += length;
  cursor.to += length;
}

/** A match may overlap what it writes: then its bytes repeat. */
function copyMatch(cursor: Cursor, offset: number, length: number): void {
  const { out, to, first, limit } = cursor;
  const from = to - offset;
  if (offset === 0 || from < first || to + length > limit) throw damaged();
  if (offset >= length && length > 32) out.copyWithin(to, from, from + length);
  else for (let i = 0; i < length; i++) out[to + i] = out[from + i] as number;
  cursor.to += length;
}

function damaged(): ServiceError {
  return new ServiceError('provider_error', 'A compressed kernel or module for microVMs is damaged.', {
    remedy: 'Install the kernel package again.',
  });
}
