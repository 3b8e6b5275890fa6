// Makes one file of a database and its write-ahead log, which also proves that nobody has it open.

import { ServiceError } from '../../domain/errors.ts';
import { isBusy, isReadOnly, storeFailure } from './failures.ts';
import Sqlite from './sqlite.ts';

/**
 * Switches the database at `path` away from its write-ahead log: everything is in the one file afterwards. `unreadable`
 * when it is no database or too damaged to be opened; nothing is changed then. Throws `conflict` when anybody has it
 * open, else as the store does.
 */
export function checkpointDatabase(path: string): 'folded' | 'unreadable' {
  if (!isReadable(path)) return 'unreadable';
  const db = new Sqlite(path, { fileMustExist: true, timeout: 0 });
  try {
    db.pragma('trusted_schema = OFF');
    // SQLite refuses the switch while another connection is there.
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

/** By a connection that only reads: one that may write throws the log of a damaged database away when it closes. */
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
    // A journal that has to be rolled back first.
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
