// Byte for byte copies of files that nobody writes to, hashed on their way.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const CHUNK_BYTES = 1024 * 1024;

export interface Copied {
  bytes: number;
  /** In hex. */
  sha256: string;
}

interface Watch {
  signal?: AbortSignal | undefined;
  onBytes?: ((done: number) => void) | undefined;
}

/** Copies over the content of `to`, which exists. */
export async function copyHashed(from: string, to: string, watch: Watch = {}): Promise<Copied> {
  const { meter, result } = hashing(watch);
  const source = createReadStream(from, { highWaterMark: CHUNK_BYTES });
  await pipeline(source, meter, createWriteStream(to, { flags: 'r+' }), signalOf(watch));
  return result();
}

export async function hashFile(path: string, watch: Pick<Watch, 'signal'> = {}): Promise<Copied> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES, ...signalOf(watch) })) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

const signalOf = ({ signal }: Pick<Watch, 'signal'>) => (signal ? { signal } : {});

function hashing({ onBytes }: Watch) {
  const hash = createHash('sha256');
  let bytes = 0;
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.length;
      onBytes?.(bytes);
      done(null, chunk);
    },
  });
  return { meter, result: (): Copied => ({ bytes, sha256: hash.digest('hex') }) };
}
