// runtime.json: whose a virtual machine is and which process runs it. Written before the monitor is started, and again
// when its number is known. Nothing here is trusted beyond its shape: a process is checked against its start time.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';

export interface RuntimeRecord {
  instance: string;
  id: string;
  epoch: number;
  boot_id: string;
  image: string;
  created_at: string;
  expires_at: string;
  /** Absent when the monitor has the server's uid. */
  uid_slot?: number;
  /** Folders to remove with the runtime; absent in older records. */
  cgroups?: string[];
  /** The monitor and its start in ticks since boot; absent until it was started. */
  pid?: number;
  pid_start?: number;
}

const TEXTS = ['instance', 'id', 'boot_id', 'image', 'created_at', 'expires_at'];
const MAYBE_COUNTS = ['uid_slot', 'pid', 'pid_start'];

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

/** The record in a run folder; undefined when it does not exist or is invalid: the folder is then cleared. */
export async function readRecord(folder: string): Promise<RuntimeRecord | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(join(folder, 'runtime.json'), 'utf8'));
    return isRecord(record) ? record : undefined;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof SyntaxError || code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new ServiceError('provider_error', 'Could not read the record of a runtime.', { cause });
  }
}

function isRecord(value: unknown): value is RuntimeRecord {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  return (
    TEXTS.every((key) => typeof fields[key] === 'string') &&
    isCount(fields.epoch) &&
    MAYBE_COUNTS.every((key) => fields[key] === undefined || isCount(fields[key])) &&
    (fields.cgroups === undefined || isTexts(fields.cgroups))
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
