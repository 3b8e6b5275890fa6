// Translates SQLite's errors. SQLite's text is kept as the cause, only for the log.
import { ServiceError } from '../../domain/errors.ts';
import { DAMAGED, EXISTS, errorOf, FULL, type Meaning, UNEXPECTED } from '../failures.ts';

/** SQLite reports a damaged page and an unreadable one with the same code. */
const MISREAD: Meaning = {
  code: 'internal',
  message: 'The disk failed to read the database, or the file is damaged.',
  remedy:
    'Check the disk and try again. If the error persists, or health reports damage, replace the file with a backup.',
};
const NO_DATABASE: Meaning = {
  code: 'internal',
  message: 'The database file is not a database.',
  remedy: 'Set database.path to another file, or replace the file with a backup. The file was not changed.',
};
const UNREADABLE: Meaning = {
  code: 'unavailable',
  message: 'The database file cannot be read or written.',
  remedy: 'Check the disk, and the owner and rights of the database file and its folder.',
};

const OF_DISK = ['SQLITE_IOERR', 'SQLITE_CANTOPEN', 'SQLITE_READONLY', 'SQLITE_PERM', 'SQLITE_PROTOCOL'];

/** Matched by the prefix of the result code; the first match counts. */
const MEANINGS: readonly [prefix: string, Meaning][] = [
  ['SQLITE_FULL', FULL],
  [
    'SQLITE_BUSY',
    {
      code: 'unavailable',
      message: 'The database is held by another program.',
      remedy: 'End the program that holds a transaction open on the database file, then try again.',
    },
  ],
  ['SQLITE_CORRUPT', MISREAD],
  ['SQLITE_NOTADB', NO_DATABASE],
  ['SQLITE_CONSTRAINT', EXISTS],
  ...OF_DISK.map((prefix): [string, Meaning] => [prefix, UNREADABLE]),
];

/** Returns a ServiceError as it is and translates any other error. */
export function storeFailure(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const code = resultCode(error);
  const meaning = MEANINGS.find(([prefix]) => code.startsWith(prefix))?.[1];
  if (meaning) return errorOf(meaning, error);
  // Damage here is a record that is not valid JSON. Pages have no checksums, so nothing else detects this.
  return errorOf(error instanceof SyntaxError ? DAMAGED : UNEXPECTED, error);
}

export const isDamage = ({ message }: ServiceError) =>
  [DAMAGED, MISREAD, NO_DATABASE].some((meaning) => message === meaning.message);
/** SQLite's code for damage, which it also uses for failed reads. */
export const isOfPages = (error: unknown) => resultCode(error).startsWith('SQLITE_CORRUPT');
export const unreadable = (cause?: unknown) => errorOf(UNREADABLE, cause);
export const diskFull = () => errorOf(FULL);
export const isBusy = (error: unknown) => resultCode(error).startsWith('SQLITE_BUSY');
/** The disk failed for a reason other than being full. */
export const isOfDisk = (error: unknown) => OF_DISK.some((prefix) => resultCode(error).startsWith(prefix));
export const isFull = (error: unknown) => resultCode(error).startsWith('SQLITE_FULL');
export const isReadOnly = (error: unknown) => resultCode(error).startsWith('SQLITE_READONLY');

function resultCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
