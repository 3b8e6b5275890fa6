// Whether the database is still where it was opened. SQLite goes on writing into a file that has been removed, as if nothing
// were wrong, and all of it ends with the process; so it is asked for before each write.
import { type BigIntStats, statSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';

/** The log and its index are part of the database: what is written to one that was removed is lost, too. */
const PARTS = ['', '-wal', '-shm'];

/** Throws `unavailable` unless every file of the database at `path` is the one that was there at the call of `placeOf`. */
export function fileIdentityCheck(path: string): () => void {
  const parts = PARTS.map((end) => path + end);
  const opened = parts.map((part) => identityOf(part));
  return () => {
    if (parts.some((part, at) => identityOf(part, opened[at]) !== opened[at])) throw gone();
  };
}

/**
 * Throws `conflict` when the file at `path` is missing or empty while what a server keeps beside it is there: a new one would
 * forget every sandbox, and SQLite would remove the log, from which a file could still be mended.
 */
export function refuseMissingFile(path: string): void {
  if (sizeOf(path) > 0) return;
  const kept = [`${path}-wal`, `${path}.reserve`].filter((part) => sizeOf(part) > 0);
  if (kept.length === 0) return;
  throw new ServiceError('conflict', 'The database file is gone, but what was kept beside it is there.', {
    remedy:
      'Put the file back, or a backup in its place; to begin with an empty one, remove what bears its name with -wal or .reserve.',
    details: { kept },
  });
}

const gone = () =>
  new ServiceError('unavailable', 'The database file has been removed or replaced.', {
    remedy: 'Put it back as it was; or stop the service, put a backup in its place, and start it again.',
  });

/** Undefined when nothing is there; `otherwise` when nobody can tell. */
function identityOf(path: string, otherwise?: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false }) as BigIntStats | undefined;
    return found && `${found.dev} ${found.ino}`;
  } catch {
    return otherwise;
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
