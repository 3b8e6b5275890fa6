// Files of a backend: their facts, their bytes, and the memory that lists of them take.
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import type { Room } from '../../agent/io.ts';
import type { FileInfo } from '../../schema/file.ts';

/** Approximate size of a listed object without its paths. */
const ENTRY_BYTES = 256;

/** Charges `entry` to `room`, the caller's who requested the list, and returns it. Throws the refusal of `room`. */
export function chargeEntry<T extends FileInfo | string>(entry: T, room: Room | undefined): T {
  if (typeof entry === 'string') room?.grow(2 * entry.length);
  else room?.grow(ENTRY_BYTES + 2 * (entry.path.length + (entry.symlink_target?.length ?? 0)));
  return entry;
}

/** A file as a backend describes it, with valid values for invalid ones. `modified` is in ms since 1970. */
export function fileInfo(
  { path, type, mode }: Pick<FileInfo, 'path' | 'type' | 'mode'>,
  { size, modified, target }: { size: unknown; modified: number; target: unknown },
): FileInfo {
  return {
    path,
    name: posix.basename(path) || path,
    size: Number.isSafeInteger(size) && (size as number) >= 0 ? (size as number) : 0,
    mode,
    is_dir: type === 'dir',
    type,
    mod_time: new Date(Number.isFinite(modified) ? modified : 0).toISOString(),
    ...(type === 'symlink' && { symlink_target: typeof target === 'string' ? target : '' }),
  };
}

/** The pieces of `body`, whose bytes are added to `count`. */
export async function* counted(body: Readable | Buffer, count: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const piece of Buffer.isBuffer(body) ? [body] : (body as AsyncIterable<Buffer>)) {
    count.bytes += piece.length;
    yield piece;
  }
}

/** `content` from `offset` on, at most `length` bytes. */
export async function* cut(
  content: AsyncIterable<Uint8Array>,
  { offset, length = Number.POSITIVE_INFINITY }: { offset: number; length?: number | undefined },
): AsyncGenerator<Buffer> {
  let [ahead, left] = [offset, length];
  for await (const piece of content) {
    const rest = Buffer.from(piece.buffer, piece.byteOffset, piece.length).subarray(
      Math.min(ahead, piece.length),
    );
    ahead -= piece.length - rest.length;
    const part = rest.subarray(0, Math.min(left, rest.length));
    left -= part.length;
    if (part.length > 0) yield part;
    if (left <= 0) return;
  }
}
