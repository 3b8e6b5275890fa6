// What a backup may replace: no database in use, by whatever name, and nothing whose log would be read as a part of the copy.
import { existsSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';
import { lockInode } from '../../store/sqlite/inode-lock.ts';
import { isSameFile, walBytes } from '../../store/sqlite/reader.ts';

/**
 * Holds the file at `output`, if there is one, so that no server begins with it; what it returns lets go. Throws `conflict`
 * when a server has it, or a log stands beside it, `bad_request` when it is the database itself.
 */
export async function holdTarget(database: string, output: string): Promise<() => void> {
  if (isSameFile(database, output))
    throw new ServiceError('bad_request', 'The output and the database are the same file.', {
      remedy: 'Use another file.',
    });
  if (walBytes(output) > 0)
    throw new ServiceError(
      'conflict',
      'The output has a write-ahead log, so it is or was a database in use.',
      {
        remedy: 'Use another file. To replace a database, run `svc db restore`.',
        details: { file: `${output}-wal` },
      },
    );
  return existsSync(output) ? lockInode(output) : () => {};
}
