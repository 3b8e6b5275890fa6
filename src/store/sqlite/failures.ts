// From what SQLite throws to what the service says. The text of SQLite is kept as the cause, for the log only.
import { type ErrorFacts, ServiceError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../schema/error.ts';

interface Meaning {
  code: ErrorCode;
  message: string;
  remedy: string;
  status?: number;
}

const DAMAGED: Meaning = {
  code: 'internal',
  message: 'The database file is damaged.',
  remedy: 'Stop the service, keep the file, and put a backup in its place.',
};
/** SQLite has one word for a page that is damaged and for one that it could not read. */
const MISREAD: Meaning = {
  code: 'internal',
  message: 'The disk failed to read the database, or the file is damaged.',
  remedy:
    'Try again, and look at the disk. Where it stays so, or health says that the file is damaged, put a backup in its place.',
};
const NO_DATABASE: Meaning = {
  code: 'internal',
  message: 'The database file is not a database.',
  remedy: 'Point database.path at another file, or put a backup in its place; it is not changed.',
};
const UNREADABLE: Meaning = {
  code: 'unavailable',
  message: 'The database file cannot be read or written.',
  remedy: 'Check the disk, and the owner and rights of the database file and its folder.',
};
const FULL: Meaning = {
  code: 'resource_limit',
  message: 'The disk that holds the database is full.',
  remedy: 'Free space on it; running sandboxes can still be destroyed.',
  status: 507,
};

const OF_DISK = ['SQLITE_IOERR', 'SQLITE_CANTOPEN', 'SQLITE_READONLY', 'SQLITE_PERM', 'SQLITE_PROTOCOL'];

/** By the beginning of the result code; the first that fits. */
const MEANINGS: readonly [prefix: string, Meaning][] = [
  ['SQLITE_FULL', FULL],
  [
    'SQLITE_BUSY',
    {
      code: 'unavailable',
      message: 'The database is held by another program.',
      remedy: 'Try again; end whatever holds a transaction open on the database file.',
    },
  ],
  ['SQLITE_CORRUPT', MISREAD],
  ['SQLITE_NOTADB', NO_DATABASE],
  [
    'SQLITE_CONSTRAINT',
    { code: 'conflict', message: 'The record exists already.', remedy: 'Use another id.' },
  ],
  ...OF_DISK.map((prefix): [string, Meaning] => [prefix, UNREADABLE]),
];

const say = ({ code, message, ...facts }: Meaning, more: ErrorFacts = {}) =>
  new ServiceError(code, message, { ...facts, ...more });

/** `error` as a ServiceError; one that already is stays as it is. */
export function storeFailure(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const code = resultCode(error);
  const meaning = MEANINGS.find(([prefix]) => code.startsWith(prefix))?.[1];
  if (meaning) return say(meaning, { cause: error });
  // A record is no JSON any more: pages have no checksums, so nothing else tells.
  if (error instanceof SyntaxError) return damaged(error);
  return new ServiceError('internal', 'The database gave an unexpected answer.', {
    cause: error,
    remedy: 'Look up the request id in the log.',
  });
}

export const damaged = (cause?: unknown) => say(DAMAGED, { cause });
export const isDamage = ({ message }: ServiceError) =>
  [DAMAGED, MISREAD, NO_DATABASE].some((meaning) => message === meaning.message);
/** SQLite's own word for damage, which it also has for a read that failed. */
export const isOfPages = (error: unknown) => resultCode(error).startsWith('SQLITE_CORRUPT');
export const unreadable = (cause?: unknown) => say(UNREADABLE, { cause });
export const diskFull = () => say(FULL);
export const storeClosed = () =>
  new ServiceError('unavailable', 'The service is stopping.', { remedy: 'Try again once it has started.' });
export const isBusy = (error: unknown) => resultCode(error).startsWith('SQLITE_BUSY');
/** The disk refused, for a reason other than its being full. */
export const isOfDisk = (error: unknown) => OF_DISK.some((prefix) => resultCode(error).startsWith(prefix));
export const isFull = (error: unknown) => resultCode(error).startsWith('SQLITE_FULL');
export const isReadOnly = (error: unknown) => resultCode(error).startsWith('SQLITE_READONLY');

function resultCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
