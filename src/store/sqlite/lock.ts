// Allows one server per database. Two kernel locks, which end with the process and so are never stale: one on the name,
// an SQLite file held by BEGIN EXCLUSIVE, which exists before the database does; and one on the file itself under any
// name. The note names the holder for error messages and is never trusted.
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';
import { isBusy, storeFailure } from './failures.ts';
import { lockInode } from './inode-lock.ts';
import { refuseAliases } from './refuse-aliases.ts';
import Sqlite from './sqlite.ts';

const NOTE_LIMIT_BYTES = 4096;
/** Anyone who can write to the folder can write the note. */
const PLAIN_ADDRESS = /^[\w.:[\]/-]{1,200}$/;

export interface LockHolder {
  pid: number;
  /** ISO 8601. */
  started_at: string;
  /** The holder's address, once it serves. */
  address?: string;
}

export interface DatabaseLock {
  /**
   * Locks the database file itself, which exists but is not yet opened by SQLite. Throws `conflict` if another process
   * holds it under another name, `unavailable` if it has several names or cannot be locked.
   */
  holdFile(): Promise<void>;
  /** Adds the address to the note. A failure to write the note is ignored. */
  announce(address: string): void;
  /** Call it after every connection to the database is closed. Idempotent. */
  release(): void;
}

/** Takes `<databasePath>.lock` for this process. Throws `conflict` at once, with the holder's pid, if it is taken. */
export function acquireLock(databasePath: string, started_at: string): DatabaseLock {
  const path = `${databasePath}.lock`;
  const db = openExclusive(path, `${path}.json`);
  const holder: LockHolder = { pid: process.pid, started_at };
  writeNote(`${path}.json`, holder);
  let letGo = () => {};
  return {
    holdFile: async () => {
      refuseAliases(databasePath);
      letGo = await lockInode(databasePath);
    },
    announce: (address) => writeNote(`${path}.json`, { ...holder, address }),
    release: () => {
      if (!db.open) return;
      // Removes the note first: once the lock is released, the note may be the next holder's.
      rmSync(`${path}.json`, { force: true });
      letGo();
      db.close();
    },
  };
}

function openExclusive(path: string, note: string): Sqlite.Database {
  let db: Sqlite.Database | undefined;
  try {
    createPrivate(path);
    db = new Sqlite(path, { timeout: 0 });
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db?.close();
    if (isBusy(error)) throw taken(readNote(note));
    throw lockFailure(error);
  }
}

/**
 * Creates the file with rights for its owner only. An existing file is not opened, because closing it would drop
 * SQLite's lock.
 */
export function createPrivate(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })) return;
  closeSync(openSync(path, 'a', 0o600));
}

function taken(holder: Partial<LockHolder>): ServiceError {
  const who = typeof holder.pid === 'number' ? `process ${holder.pid}` : 'another process';
  const where = PLAIN_ADDRESS.test(holder.address ?? '') ? `, which answers at ${holder.address}` : '';
  return new ServiceError('conflict', `The database is in use by ${who}${where}.`, {
    remedy: 'Stop that server first, or set another database.path for this one.',
    ...(typeof holder.pid === 'number' && { details: { pid: holder.pid } }),
  });
}

function lockFailure(error: unknown): ServiceError {
  const { code } = storeFailure(error);
  return new ServiceError(code, 'Could not lock the database.', {
    cause: error,
    remedy:
      code === 'internal'
        ? 'Remove the lock file beside the database; it is damaged.'
        : 'Check the disk, and the rights of the lock file and its folder.',
  });
}

function writeNote(path: string, holder: LockHolder): void {
  try {
    writeFileSync(`${path}.new`, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    rmSync(`${path}.new`, { force: true });
  }
}

function readNote(path: string): Partial<LockHolder> {
  try {
    if (statSync(path).size > NOTE_LIMIT_BYTES) return {};
    const note: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof note === 'object' && note !== null ? note : {};
  } catch {
    return {};
  }
}
