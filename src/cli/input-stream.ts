// A local file or standard input as a stream.
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import { withLocalErrors } from './local-failure.ts';

/** `-` is standard input. Throws `not_found`, `forbidden`, and `conflict` for a folder. */
export async function inputStream(file: string): Promise<Readable> {
  if (file === '-') return process.stdin;
  const handle = await withLocalErrors(open(file));
  if (!(await handle.stat()).isDirectory()) return handle.createReadStream();
  await handle.close();
  throw new ServiceError('conflict', `${file} is a folder.`, { remedy: 'Use `svc sandbox cp`.' });
}
