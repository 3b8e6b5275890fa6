// Checks that the database is still the file that was opened. SQLite keeps writing to a removed file without an error,
// and everything is lost when the process ends; so each write checks first.
import { type BigIntStats, statSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';

/** The log and its index belong to the database: writes to a removed one are lost, too. */
const PARTS = ['', '-wal', '-shm'];

/**
 * Throws `unavailable` unless every file of the database at `path` is the one that existed when the check was created.
 */
export function fileIdentityCheck(path: string): () => void {
  const parts = PARTS.map((end) => path + end);
  const opened = parts.map((part) => identityOf(part));
  return () => {
    if (parts.some((part, at) => identityOf(part, opened[at]) !== opened[at]))
      throw new ServiceError('unavailable', 'The database file has been removed or replaced.', {
        remedy:
          'Restore the original file; or stop the service, restore a backup, and start the service again.',
      });
  };
}

/**
 * Throws `conflict` if the file at `path` is missing or empty while its companion files exist. A new file would forget
 * every sandbox, and SQLite would remove the log that could still repair the old one.
 */
export function refuseMissingFile(path: string): void {
  if (sizeOf(path) > 0) return;
  const kept = [`${path}-wal`, `${path}.reserve`].filter((part) => sizeOf(part) > 0);
  if (kept.length === 0) return;
  throw new ServiceError('conflict', 'The database file is missing, but its companion files exist.', {
    remedy:
      'Restore the file or a backup. To start with an empty database, remove the files of the same name that end in -wal or .reserve.',
    details: { kept },
  });
}

/** Undefined if nothing is there; `otherwise` if it cannot be determined. */
function identityOf(path: string, otherwise?: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false }) as BigIntStats | undefined;
    return found && `${found.dev} ${found.ino}`;
  } catch {
    return otherwise;
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
