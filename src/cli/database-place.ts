// Flags that name a database: a file, a PostgreSQL URL, or `@` and a file with the URL, which keeps the password out of the
// list of processes.
import { readSecret } from '../config/secret-files.ts';
import { ServiceError } from '../domain/errors.ts';
import { isDatabaseUrl } from './postgres-tools.ts';

export type DatabasePlace = { kind: 'file'; path: string } | { kind: 'url'; url: string; urlFile?: string };

export const PLACE_HELP = '<file|url|@file>';

/** Throws `bad_request` if the file after `@` cannot be read, is readable by everyone, or has no URL. */
export function placeOf(text: string): DatabasePlace {
  if (isDatabaseUrl(text)) return { kind: 'url', url: text };
  if (!text.startsWith('@')) return { kind: 'file', path: text };
  const urlFile = text.slice(1);
  const read = readSecret({ path: '@', value: urlFile, source: { layer: 'default' } }, process.cwd());
  if ('fault' in read)
    throw new ServiceError('bad_request', `Could not take the database URL: ${read.fault}.`, {
      remedy: 'Check the path after @.',
      details: { file: urlFile },
    });
  if (isDatabaseUrl(read.secret)) return { kind: 'url', url: read.secret, urlFile };
  throw new ServiceError('bad_request', 'The file does not contain the URL of a PostgreSQL database.', {
    remedy: 'Write it as postgres://user:password@host:5432/name.',
    details: { file: urlFile },
  });
}
