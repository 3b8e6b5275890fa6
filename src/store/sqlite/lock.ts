// One server for one database. Two locks of the kernel, which drops them with the process, so they are never stale: one
// on the name, an SQLite file held by BEGIN EXCLUSIVE, which is there before the database is; and one on the file itself,
// whatever names lead to it. The note says who holds the name; it is for the message only and is never trusted.
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';
import { isBusy, storeFailure } from './failures.ts';
import { lockInode } from './inode-lock.ts';
import { refuseAliases } from './refuse-aliases.ts';
import Sqlite from './sqlite.ts';

const NOTE_LIMIT_BYTES = 4096;
/** Anybody who may write to the folder may have written the note. */
const PLAIN_ADDRESS = /^[\w.:[\]/-]{1,200}$/;

export interface LockHolder {
  pid: number;
  /** ISO 8601. */
  started_at: string;
  /** Where the holder answers, once it does. */
  address?: string;
}

export interface DatabaseLock {
  /**
   * Locks the database file itself, which is there by now and is not opened by SQLite yet. Throws `conflict` when another
   * process has it by another name, `unavailable` when it has several names or cannot be locked.
   */
  holdFile(): Promise<void>;
  /** Adds the address to the note. A note that cannot be written is no failure. */
  announce(address: string): void;
  /** After every connection to the database is closed. Idempotent. */
  release(): void;
}

/**
 * Takes `<databasePath>.lock` for this process. Throws `conflict` naming the holder's pid when it is taken, at once.
 */
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
      // The note first: after the lock is gone it may already be the next holder's.
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

/** Makes the file with rights for its owner alone; one that is there is not opened (closing it would drop SQLite's lock). */
export function createPrivate(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })) return;
  closeSync(openSync(path, 'a', 0o600));
}

function taken(holder: Partial<LockHolder>): ServiceError {
  const who = typeof holder.pid === 'number' ? `process ${holder.pid}` : 'another process';
  const where = PLAIN_ADDRESS.test(holder.address ?? '') ? `, which answers at ${holder.address}` : '';
  return new ServiceError('conflict', `The database is in use by ${who}${where}.`, {
    remedy: 'Stop that server first, or give this one another database.path.',
    ...(typeof holder.pid === 'number' && { details: { pid: holder.pid } }),
  });
}

function lockFailure(error: unknown): ServiceError {
  const { code } = storeFailure(error);
  return new ServiceError(code, 'The lock file beside the database cannot be taken.', {
    cause: error,
    remedy:
      code === 'internal'
        ? 'It is damaged: remove it.'
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
