// The bytes of an archive, unpacked where they are packed: gzip here, the rest by the machine's tools.
import { createReadStream } from 'node:fs';
import { PassThrough, pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ServiceError } from '../../domain/errors.ts';
import { noTar } from '../../domain/tar/tar-header.ts';
import type { Host } from '../../host/host.ts';
import { type Packing, packingOf } from '../../providers/microvm/packing.ts';

const CHUNK_BYTES = 1024 * 1024;
/** Enough of an archive to tell how it is packed. */
const HEAD_BYTES = 16;
const PROGRAMS: Partial<Record<Packing, string>> = {
  xz: 'xz',
  lzma: 'xz',
  zstd: 'zstd',
  bzip2: 'bzip2',
  lz4: 'lz4',
};

export interface ArchiveRequest {
  host: Host;
  /** A path on this machine; `-` is standard input. */
  path: string;
  /** The most that may come out. */
  maxBytes: number;
}

/** Throws `bad_request` for one that does not unpack, `resource_limit` beyond `maxBytes`, and what reading the file throws. */
export async function* archiveBytes({ host, path, maxBytes }: ArchiveRequest): AsyncGenerator<Buffer> {
  const file: Readable =
    path === '-' ? process.stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES });
  const { head, content } = await peek(file);
  const packing = packingOf(head);
  const bytes = packing === undefined ? content : await unpacked(host, packing, content);
  let left = maxBytes;
  try {
    for await (const chunk of bytes) {
      left -= chunk.length;
      if (left < 0)
        throw new ServiceError('resource_limit', 'The decompressed archive is larger than the image.', {
          remedy: 'Use a larger --size.',
        });
      yield chunk;
    }
  } catch (error) {
    throw isDamage(error) ? noTar() : error;
  } finally {
    file.destroy();
  }
}

/** The first bytes, and all of them. */
async function peek(file: Readable): Promise<{ head: Buffer; content: AsyncIterable<Buffer> }> {
  const chunks = file[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let head = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const { value, done } = await chunks.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  async function* content() {
    yield head;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
  }
  return { head, content: content() };
}

async function unpacked(
  host: Host,
  packing: Packing,
  packed: AsyncIterable<Buffer>,
): Promise<AsyncIterable<Buffer>> {
  if (packing === 'gzip') return through(packed, createGunzip());
  const name = PROGRAMS[packing] ?? packing;
  const program = await host.which(name);
  if (program === undefined)
    throw new ServiceError('unavailable', `The archive is compressed with ${packing}.`, {
      remedy: `Install ${name}, or decompress the archive.`,
    });
  const { stdin, stdout } = host.accompany(program, ['-d', '-c']);
  const out = new PassThrough();
  pipeline(Readable.from(packed), stdin, () => {});
  pipeline(stdout, out, () => {});
  return out;
}

function through(packed: AsyncIterable<Buffer>, unpacker: PassThrough | ReturnType<typeof createGunzip>) {
  pipeline(Readable.from(packed), unpacker, () => {});
  return unpacker as AsyncIterable<Buffer>;
}

/** As zlib says it. */
const isDamage = (error: unknown) => `${(error as { code?: unknown }).code}`.startsWith('Z_');
