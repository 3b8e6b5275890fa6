// Locks a database file by device and inode instead of by its path.
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs';
import { findAgent } from '../../agent/binary.ts';
import { ServiceError } from '../../domain/errors.ts';
import { lockFile } from '../../host/file-lock.ts';
import { packageRoot } from '../../host/package-root.ts';

/**
 * Locks the file at `path` and returns a function that releases the lock, once. Call it before SQLite opens the file,
 * and release after SQLite has closed it: closing any descriptor of a file drops SQLite's own locks on it. Throws
 * `conflict` if another process holds the lock, `unavailable` if the file cannot be locked.
 */
export async function lockInode(path: string): Promise<() => void> {
  const program = await findAgent(packageRoot(), process.arch);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let isHeld = true;
  const letGo = () => {
    if (isHeld) closeSync(fd);
    isHeld = false;
  };
  try {
    if (!(await lockFile(program, fd)))
      throw new ServiceError('conflict', 'The database is in use by another process under another name.', {
        remedy: 'Stop that server first, or set another database.path for this one.',
      });
    if (!isStill(path, fd))
      throw new ServiceError('unavailable', 'The database file was replaced while it was opened.', {
        remedy: 'Try again.',
      });
    return letGo;
  } catch (error) {
    letGo();
    throw error;
  }
}

function isStill(path: string, fd: number): boolean {
  const [named, held] = [
    statSync(path, { throwIfNoEntry: false, bigint: true }),
    fstatSync(fd, { bigint: true }),
  ];
  return named?.dev === held.dev && named.ino === held.ino;
}
