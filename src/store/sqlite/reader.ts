// Opens a database file that this process must not change: for inspection, checks and copies, also while a server
// writes to it. A read-only connection cannot remove the `-wal` and `-shm` that SQLite makes for it, so where there is
// nothing to checkpoint, the connection may write but is set to refuse writes: its close then leaves the folder as it
// was.
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { ServiceError } from '../../domain/errors.ts';
import { storeFailure } from './failures.ts';
import Sqlite from './sqlite.ts';

/** SQLite waits this long for another process; nothing else runs in a command that reads a database. */
const PATIENCE_MS = 5000;

/**
 * Runs `read` with a connection that does not change the file. Throws `not_found` if there is no file, `bad_request` if
 * it is not a regular file, otherwise like the store.
 */
export function withReader<T>(path: string, read: (db: Database) => T): T {
  const db = openReader(path);
  try {
    return read(db);
  } catch (error) {
    throw storeFailure(error);
  } finally {
    db.close();
  }
}

/** Like `withReader` for longer use; the caller closes it. */
export function openReader(path: string): Database {
  const { size } = fileOf(path);
  if (size === 0)
    throw new ServiceError('conflict', 'The file is empty.', {
      remedy: 'Name another file.',
      details: { file: path },
    });
  try {
    const db = new Sqlite(path, { readonly: !mayTidyUp(path), fileMustExist: true, timeout: PATIENCE_MS });
    harden(db);
    return db;
  } catch (error) {
    throw storeFailure(error);
  }
}

/** Prevents code in a hostile file from running, and any write. */
export function harden(db: Database): void {
  db.pragma('trusted_schema = OFF');
  db.pragma('cell_size_check = ON');
  db.pragma('query_only = ON');
}

/** Opening a FIFO would block forever. */
export function fileOf(path: string): { size: number; uid: number; gid: number; mode: number } {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats)
    throw new ServiceError('not_found', 'The file does not exist.', {
      remedy: 'Check the path.',
      details: { file: path },
    });
  if (!stats.isFile())
    throw new ServiceError('bad_request', 'This is not a file.', {
      remedy: 'Specify the database file itself.',
      details: { file: path },
    });
  return stats;
}

/** True if two names lead to one file; false if either is missing. */
export function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false, bigint: true }));
  return first !== undefined && first.dev === second?.dev && first.ino === second.ino;
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
export const walBytes = (path: string): number => sizeOf(`${path}-wal`);

/** A close would checkpoint a log that has content, and an open would roll back such a journal. */
function mayTidyUp(path: string): boolean {
  return (
    sizeOf(`${path}-wal`) === 0 && sizeOf(`${path}-journal`) === 0 && isWalMode(path) && isWritable(path)
  );
}

/** Byte 18 of the header (sqlite.org/fileformat.html) is 2 in WAL mode. */
function isWalMode(path: string): boolean {
  const fd = openSync(path, 'r');
  try {
    const header = Buffer.alloc(20);
    return readSync(fd, header, 0, 20, 0) === 20 && header[18] === 2;
  } finally {
    closeSync(fd);
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
