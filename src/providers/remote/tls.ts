// Reads the files of `worker.tls` when the server starts.
import { readFile } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import type { Config } from '../../schema/config.ts';
import type { OutgoingTls } from '../outgoing/connect.ts';

/** Undefined if no file is configured. Throws `bad_request` for an unreadable file. */
export async function workerTls(files: Config['worker']['tls']): Promise<OutgoingTls | undefined> {
  const [ca, cert, key] = await Promise.all([
    pem('ca_file', files.ca_file),
    pem('cert_file', files.cert_file),
    pem('key_file', files.key_file),
  ]);
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}

async function pem(name: string, path: string): Promise<string | undefined> {
  if (path === '') return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new ServiceError('bad_request', `The file of worker.tls.${name} cannot be read.`, { cause });
  }
}
