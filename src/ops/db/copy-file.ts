// Copies files that nobody writes to, byte for byte, and hashes them meanwhile.
import { createHash } from 'node:crypto';
import { closeSync, createReadStream, createWriteStream, openSync, readSync } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as immediate } from 'node:timers/promises';

const CHUNK_BYTES = 1024 * 1024;
const PART_BYTES = 256 * 1024;
/** A few ms between two looks at everything else. */
const PARTS_A_TURN = 16;

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

/**
 * Into one small buffer over and over, without leaving the thread: memory that is new for each part, or a hop to another
 * thread for it, takes as long as the hash itself.
 */
export async function hashFile(path: string, { signal }: Pick<Watch, 'signal'> = {}): Promise<Copied> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafeSlow(PART_BYTES);
  const file = openSync(path, 'r');
  try {
    let bytes = 0;
    for (let parts = 1; ; parts += 1) {
      const read = readSync(file, buffer);
      if (read === 0) return { bytes, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, read));
      bytes += read;
      if (parts % PARTS_A_TURN === 0) await immediate();
      signal?.throwIfAborted();
    }
  } finally {
    closeSync(file);
  }
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
