// runtime.json: the launcher's record of a runtime, written before its agent can answer (agent/src/launch-record.c). Only its
// shape is trusted: pids are checked against their start times.
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { ifPresent } from '../local/presence.ts';

/** What the server hands to the launcher. */
export interface RecordDraft {
  instance: string;
  id: string;
  epoch: number;
  boot_id: string;
  image: string;
  created_at: string;
  expires_at: string;
  /** Absent when the sandbox has the server's uid. */
  uid_slot?: number;
  /** See process-marker.ts; present where no namespace ends what runs in the sandbox. */
  mark?: string;
  /** Folders to remove with the runtime, wherever the server's own cgroup was then. */
  cgroups: string[];
}

export interface RuntimeRecord extends RecordDraft {
  /** Host number of process 1 and its start in ticks since boot. */
  pid: number;
  pid_start: number;
  /** The runner that waits for process 1, outside of the sandbox. */
  runner_pid: number;
  runner_start: number;
}

const TEXTS = ['instance', 'id', 'boot_id', 'image', 'created_at', 'expires_at'];
const COUNTS = ['epoch', 'pid', 'pid_start', 'runner_pid', 'runner_start'];

/** The record in a run folder; undefined when it does not exist or is invalid: the folder is then cleared. */
export async function readRecord(folder: string): Promise<RuntimeRecord | undefined> {
  let text: string;
  try {
    text = await readFile(join(folder, 'runtime.json'), 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw new ServiceError('provider_error', 'Could not read the record of a runtime.', { cause: error });
  }
  return parse(text);
}

/** Whether there is a run folder. Throws `unavailable` when it cannot be known. */
export async function hasFolder(folder: string): Promise<boolean> {
  return (await ifPresent(lstat(folder)))?.isDirectory() === true;
}

function parse(text: string): RuntimeRecord | undefined {
  try {
    const record: unknown = JSON.parse(text);
    return isRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is RuntimeRecord {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  const slot = fields.uid_slot;
  return (
    TEXTS.every((key) => typeof fields[key] === 'string') &&
    COUNTS.every((key) => isCount(fields[key])) &&
    (slot === undefined || isCount(slot)) &&
    (fields.mark === undefined || typeof fields.mark === 'string') &&
    Array.isArray(fields.cgroups) &&
    fields.cgroups.every((path) => typeof path === 'string')
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isAbsent(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
