// runtime.json: whose a virtual machine is and which process runs it. Written before the monitor is started, and again
// when its number is known.
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { type LocalRecord, readLocalRecord } from '../local/runtimes.ts';

export interface RuntimeRecord extends LocalRecord {
  /** The monitor and its start in ticks since boot; absent until it was started. */
  pid?: number;
  pid_start?: number;
}

/** See readLocalRecord. */
export const readRecord = (folder: string) =>
  readLocalRecord<RuntimeRecord>(folder, { counts: [], maybe: ['pid', 'pid_start'] });

/** Old or new, never half. Throws `resource_limit` when the file system is full. */
export async function writeRecord(folder: string, record: RuntimeRecord): Promise<void> {
  const path = join(folder, 'runtime.json');
  try {
    await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch (cause) {
    throw unwritable(cause);
  }
}

/** What a failure to write to our own folders is to a caller. */
export function unwritable(cause: unknown): ServiceError {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new ServiceError('resource_limit', 'No space left for virtual machines.', {
      cause,
      status: 507,
      remedy: 'Free space in /run and below providers.microvm.data_dir.',
    });
  return new ServiceError('provider_error', 'Could not write a file of a virtual machine.', {
    cause,
    remedy: 'Check that the server owns /run/svc and providers.microvm.data_dir.',
  });
}
