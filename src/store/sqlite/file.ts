// The database file before SQLite has it: its folder and rights, and what can be told without opening it. A file that is
// refused is never written to.
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { damaged } from './failures.ts';
import { createPrivate } from './lock.ts';

/** Makes the folder (0700) when it is not there; the path with links resolved, so that one file has one lock. */
export function settlePath(path: string): string {
  const folder = dirname(resolve(path));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const plain = join(realpathSync(folder), basename(path));
  return existsSync(plain) ? realpathSync(plain) : plain;
}

/** Makes the file when it is not there; in both cases only its owner may read and write it afterwards. */
export function settleRights(path: string): void {
  createPrivate(path);
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
}

/** SQLite removes its write-ahead log on an orderly close, so one that is there says that the last stop was none. */
export function stoppedUncleanly(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Throws `internal` for a file that is shorter than its own header says. With a write-ahead log beside it the header may
 * be old; then SQLite's own check decides.
 */
export function checkLength(path: string): void {
  const header = Buffer.alloc(100);
  const file = openSync(path, 'r');
  const length = readSync(file, header, 0, header.length, 0);
  closeSync(file);
  if (length < header.length || !header.subarray(0, 16).equals(MAGIC)) return;
  // File format: page size at 16 (1 stands for 65,536), pages at 28, which counts when 24 and 92 agree.
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const counted = header.readUInt32BE(24) === header.readUInt32BE(92);
  if (counted && statSync(path).size < header.readUInt32BE(28) * pageSize) throw damaged();
}

const MAGIC = Buffer.from('SQLite format 3\0', 'latin1');
