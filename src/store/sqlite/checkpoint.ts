// Merges a database and its write-ahead log into one file, which also proves that no process has it open.

import { ServiceError } from '../../domain/errors.ts';
import { isBusy, isReadOnly, storeFailure } from './failures.ts';
import Sqlite from './sqlite.ts';

/**
 * Switches the database at `path` away from its write-ahead log, so that one file holds everything. Returns
 * `unreadable`, with nothing changed, if it is not a database or too damaged to open. Throws `conflict` if another
 * process has it open, otherwise like the store.
 */
export function checkpointDatabase(path: string): 'folded' | 'unreadable' {
  if (!isReadable(path)) return 'unreadable';
  const db = new Sqlite(path, { fileMustExist: true, timeout: 0 });
  try {
    db.pragma('trusted_schema = OFF');
    // SQLite refuses the switch while there is another connection.
    if (db.pragma('journal_mode = DELETE', { simple: true }) !== 'delete') throw heldOpen();
    return 'folded';
  } catch (error) {
    const failure = isBusy(error) ? heldOpen(error) : storeFailure(error);
    if (failure.code === 'internal') return 'unreadable';
    throw failure;
  } finally {
    db.close();
  }
}

/** Uses a read-only connection, because a writable one discards the log of a damaged database when it closes. */
function isReadable(path: string): boolean {
  let db: Sqlite.Database | undefined;
  try {
    db = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: 0 });
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return true;
  } catch (error) {
    if (isBusy(error)) throw heldOpen(error);
    const failure = storeFailure(error);
    if (failure.code === 'internal') return false;
    // A journal that must be rolled back first.
    if (isReadOnly(error)) return true;
    throw failure;
  } finally {
    db?.close();
  }
}

function heldOpen(cause?: unknown): ServiceError {
  return new ServiceError('conflict', 'Another program has the database open.', {
    remedy: 'End the program that reads or writes it, then try again.',
    cause,
  });
}
