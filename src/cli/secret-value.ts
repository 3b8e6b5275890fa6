// A secret from a file or standard input: arguments show in lists of processes and histories of shells.
import { open } from 'node:fs/promises';
import { ServiceError } from '../domain/errors.ts';

const MOST_BYTES = 64 * 1024;

/** Reads a value and drops the line break that ends it. Throws `bad_request` for what cannot be read, is empty or too large. */
export async function readValue(file = '-'): Promise<string> {
  const value = (await bytesOf(file)).toString('utf8').replace(/\r?\n$/, '');
  if (value !== '') return value;
  throw new ServiceError('bad_request', 'The value is empty.', {
    remedy: 'Write it to the file of --value-file, or to standard input.',
  });
}

async function bytesOf(file: string): Promise<Buffer> {
  try {
    return await readAll(file === '-' ? process.stdin : (await open(file)).createReadStream());
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError('bad_request', `The file ${file} cannot be read.`, {
      cause,
      remedy: 'Check its path and mode.',
    });
  }
}

async function readAll(stream: AsyncIterable<Buffer | string>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    length += bytes.length;
    if (length > MOST_BYTES)
      throw new ServiceError('bad_request', 'The value is larger than 64 KiB.', {
        remedy: 'Check which file --value-file names.',
      });
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
