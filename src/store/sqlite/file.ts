// Prepares the database file before SQLite opens it: its folder, its rights, and whether the last shutdown was clean.
import { chmodSync, existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makeFoldersSync } from '../../host/make-folders.ts';
import { createPrivate } from './lock.ts';

/** Creates the folder (0700) if needed. Returns the path with links resolved, so that one file has one lock. */
export function settlePath(path: string): string {
  const folder = dirname(resolve(path));
  makeFoldersSync(folder, 0o700);
  const plain = join(realpathSync(folder), basename(path));
  return existsSync(plain) ? realpathSync(plain) : plain;
}

/** Creates the file if needed. Only its owner can read and write it afterwards. */
export function settleRights(path: string): void {
  createPrivate(path);
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
}

/** SQLite removes its write-ahead log on an orderly close, so an existing log means an unclean shutdown. */
export function stoppedUncleanly(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
