// Ensures that a database file and its companion files have only one name. SQLite finds its log by the name of the
// file: two names of one file have two logs, and writers through one name overwrite those of the other.
import { lstatSync, readFileSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';

/** The files that SQLite and the service keep under the name of a database. */
const PARTS = ['', '-wal', '-shm', '-journal', '.reserve', '.lock'];

/**
 * Throws `unavailable` if a file of the database at `path` has several links, is a symbolic link, or is a mount point.
 * A mounted folder is fine: all its names move together.
 */
export function refuseAliases(path: string): void {
  const mounts = mountPoints();
  for (const part of PARTS) {
    const file = path + part;
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (!stats) continue;
    if (stats.isSymbolicLink()) throw manyNames(file, 'is a symbolic link', REPLACE);
    if (stats.isFile() && stats.nlink > 1) throw manyNames(file, `has ${stats.nlink} hard links`, REPLACE);
    if (mounts.has(file)) throw manyNames(file, 'is a mount point by itself', 'Mount its folder instead.');
  }
}

const REPLACE =
  'Remove the other name; or stop every server that uses it, copy the file, and move the copy over this name.';

function manyNames(file: string, what: string, remedy: string): ServiceError {
  return new ServiceError('unavailable', `A database file has another name: it ${what}.`, {
    remedy,
    details: { file },
  });
}

/** The mount points of this process, as in proc(5) with blanks in octal. Empty if the kernel does not list them. */
function mountPoints(): Set<string> {
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    return new Set(lines.map((line) => unescaped(line.split(' ')[4] ?? '')));
  } catch {
    return new Set();
  }
}

const unescaped = (name: string) =>
  name.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
