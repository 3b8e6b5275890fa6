// Layers as they are stored: plain, or compressed by gzip or zstd. Node decompresses where it can.
import { once } from 'node:events';
import { type Duplex, PassThrough, pipeline, Readable, type Writable } from 'node:stream';
import zlib from 'node:zlib';
import { ServiceError } from '../domain/errors.ts';
import type { Host } from '../host/host.ts';
import { freeing } from './freeing.ts';

const HEAD_BYTES = 6;
const GZIP = Buffer.from('1f8b', 'hex');
const ZSTD = Buffer.from('28b52ffd', 'hex');
/** A frame that is skipped, whatever the last four bits of the first byte are. RFC 8878, 3.1.2 */
const ZSTD_SKIPPED = Buffer.from('2a4d18', 'hex');
const OTHERS: readonly (readonly [string, Buffer])[] = [
  ['xz', Buffer.from('fd377a585a00', 'hex')],
  ['bzip2', Buffer.from('BZh')],
  ['lz4', Buffer.from('04224d18', 'hex')],
];
/** Node 22.15 and 23.8 brought it. */
const { createZstdDecompress } = zlib as {
  createZstdDecompress?: (options: { chunkSize: number }) => Duplex;
};
/**
 * Each chunk is a task of another thread, and fresh memory: with the 16 KiB of Node, gunzip takes three times the processor
 * time, with 128 KiB a third more.
 */
const CHUNK_BYTES = 512 * 1024;

/**
 * The plain bytes of `source`, whatever its first bytes say it is; nobody else may use its chunks. Destroying the result
 * ends `source`. Throws `unavailable` where nothing can decompress it; the stream fails for damaged input.
 */
export async function decompressed(host: Host, source: Readable): Promise<Readable> {
  const { head, all } = await begun(source);
  const out = await decompressorFor(host, head);
  pipeline(all, out.input, () => {});
  source.on('error', (error) => out.output.destroy(error));
  return out.output;
}

interface Begun {
  /** As many bytes as the longest magic has, or fewer at the end of the source: a client may send single bytes. */
  head: Buffer;
  /** All bytes. */
  all: Readable;
}

async function begun(source: Readable): Promise<Begun> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const chunk = source.read() as Buffer | null;
    if (chunk !== null) head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    else if (source.readableEnded || source.destroyed) break;
    else await nextOf(source);
  }
  // Nothing can be put back into a stream that has ended.
  if (source.readableEnded) return { head, all: Readable.from(head.length > 0 ? [head] : []) };
  if (head.length > 0 && !source.destroyed) source.unshift(head);
  return { head, all: source };
}

/** Rejects with the error of the stream. A stream that is destroyed without one only closes. */
async function nextOf(source: Readable): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  try {
    await Promise.race(['readable', 'end', 'close'].map((event) => once(source, event, { signal })));
  } finally {
    done.abort();
  }
}

type Ends = { input: Writable; output: Readable };

async function decompressorFor(host: Host, head: Buffer): Promise<Ends> {
  const starts = (magic: Buffer) => head.subarray(0, magic.length).equals(magic);
  if (starts(GZIP)) return decompressor(zlib.createGunzip({ chunkSize: CHUNK_BYTES }));
  const isSkipped = ((head[0] ?? 0) & 0xf0) === 0x50 && head.subarray(1, 4).equals(ZSTD_SKIPPED);
  if (starts(ZSTD) || isSkipped)
    return createZstdDecompress
      ? decompressor(createZstdDecompress({ chunkSize: CHUNK_BYTES }))
      : zstdProgram(host);
  const other = OTHERS.find(([, magic]) => starts(magic));
  if (!other) return plain();
  throw new ServiceError(
    'provider_error',
    `A layer is compressed with ${other[0]}, which images do not use.`,
    {
      remedy: 'Use a plain archive, or one compressed with gzip or zstd.',
    },
  );
}

const decompressor = (stream: Duplex | zlib.Gunzip): Ends => ({ input: freeing(stream), output: stream });

function plain(): Ends {
  const stream = new PassThrough();
  return { input: stream, output: stream };
}

async function zstdProgram(host: Host): Promise<Ends> {
  const program = await host.which('zstd');
  if (program === undefined)
    throw new ServiceError(
      'unavailable',
      'A layer is compressed with zstd, which this Node.js cannot read.',
      {
        remedy: 'Install zstd, or Node.js 22.15 or newer.',
      },
    );
  const { stdin, stdout, ended, kill } = host.accompany(program, ['-d', '-c', '-q']);
  const output = new PassThrough();
  pipeline(stdout, output, () => {});
  output.once('close', kill);
  void ended.catch(() => undefined);
  return { input: stdin, output };
}
