// `svc sandbox cat`: files one after another to standard output, byte for byte.
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';

/** A document holds the whole of it. */
const MOST_IN_JSON = 64 * 1024 * 1024;

export interface CatFile {
  path: string;
  size: number;
  content: string;
  encoding: 'base64';
}

/** Streams in order; stops at the first that cannot be read. */
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

/** The same for --json. Throws `payload_too_large` over 64 MiB in all. */
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
      throw new ServiceError('payload_too_large', 'This is too much for one document.', {
        remedy: 'Leave --json out, or use svc sandbox cp.',
      });
    }
    const bytes = Buffer.concat((await content.toArray()) as Buffer[]);
    files.push({ path, size: bytes.length, content: bytes.toString('base64'), encoding: 'base64' });
  }
  return files;
}
