// The work of `svc sandbox cat`: files one after another, byte for byte.
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';

/** Bytes that one JSON document may hold. */
const MOST_IN_JSON = 64 * 1024 * 1024;

export interface CatFile {
  path: string;
  size: number;
  content: string;
  encoding: 'base64';
}

/** Streams the files in order. Stops at the first that cannot be read. */
export async function passFiles(
  client: Client,
  { id, paths }: { id: string; paths: readonly string[] },
  output: Writable,
): Promise<void> {
  for (const path of paths) {
    const { content } = await client.files.open(id, path);
    await pipeline(content, output, { end: false });
  }
}

/** Reads the files for --json. Throws `payload_too_large` for more than 64 MiB in total. */
export async function keepFiles(
  client: Client,
  { id, paths }: { id: string; paths: readonly string[] },
): Promise<CatFile[]> {
  const files: CatFile[] = [];
  let left = MOST_IN_JSON;
  for (const path of paths) {
    const { content, length } = await client.files.open(id, path);
    left -= length;
    if (!(left >= 0)) {
      content.destroy();
      throw new ServiceError('payload_too_large', 'The files are too large for one JSON document.', {
        remedy: 'Omit --json, or use `svc sandbox cp`.',
      });
    }
    const bytes = Buffer.concat((await content.toArray()) as Buffer[]);
    files.push({ path, size: bytes.length, content: bytes.toString('base64'), encoding: 'base64' });
  }
  return files;
}
