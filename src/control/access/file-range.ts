// Reads a range of a file. The length is promised before the first byte, and files may change while they are read.
import { Readable } from 'node:stream';
import type { FileRead, SandboxFiles } from '../../agent/io.ts';
import { resolveRange } from '../../domain/byte-range.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { ByteRange, FileContentRead } from '../api/files.ts';

/** Files of /proc and /sys report size 0 and hold more. They are read completely first, up to this size. */
const UNSIZED_BYTES = 4 * 1024 * 1024;

/** Opens `range` of a file, or all of it. Throws status 416 when the range lies outside. */
export async function readRange(
  files: Pick<SandboxFiles, 'read'>,
  path: string,
  range: ByteRange | undefined,
  signal: AbortSignal,
): Promise<FileContentRead> {
  if (!range) return readAll(await files.read(path, { offset: 0 }, signal));
  const size = await sizeOf(files, path, signal);
  const span = resolveRange(range, size);
  const length = span.last - span.first + 1;
  const { info, content } = await files.read(path, { offset: span.first, length }, signal);
  return { info: { ...info, size }, content: exactly(content, length), range: span, length };
}

async function readAll({ info, content }: FileRead): Promise<FileContentRead> {
  if (info.size > 0) return { info, content: exactly(content, info.size), length: info.size };
  const bytes = await collect(content);
  return { info, content: Readable.from(bytes.length > 0 ? [bytes] : []), length: bytes.length };
}

/** The size of the file that a link leads to, which `stat` does not report. */
async function sizeOf(files: Pick<SandboxFiles, 'read'>, path: string, signal: AbortSignal): Promise<number> {
  const { info, content } = await files.read(path, { offset: 0, length: 0 }, signal);
  content.on('error', () => undefined).destroy();
  return info.size;
}

async function collect(content: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of content as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > UNSIZED_BYTES)
      throw new ServiceError('bad_request', 'The file has no known size and does not end.', {
        remedy: 'Read it with a command.',
      });
    pieces.push(piece);
  }
  return Buffer.concat(pieces, size);
}

/** Exactly `length` bytes of `content`. Bytes appended meanwhile are left out; a file that became shorter fails. */
function exactly(content: Readable, length: number): Readable {
  // Nothing else handles its failure before it is iterated, and one that never is must still be closed.
  content.on('error', () => undefined);
  return Readable.from(cut(content, length), { objectMode: false }).on('close', () => content.destroy());
}

async function* cut(content: Readable, length: number): AsyncGenerator<Buffer> {
  let left = length;
  for await (const piece of content as AsyncIterable<Buffer>) {
    if (left > 0) yield piece.length > left ? piece.subarray(0, left) : piece;
    left -= Math.min(left, piece.length);
    if (left === 0) return;
  }
  if (left > 0)
    throw new ServiceError('conflict', 'The file became shorter while it was read.', {
      remedy: 'Read it again.',
    });
}
