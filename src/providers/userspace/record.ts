// runtime.json: the launcher's record of a runtime, written before its agent can answer (agent/src/launch-record.c).
import { lstat } from 'node:fs/promises';
import { ifPresent } from '../local/presence.ts';
import { type LocalRecord, readLocalRecord } from '../local/runtimes.ts';

/** What the server hands to the launcher. */
export interface RecordDraft extends LocalRecord {
  /** See process-marker.ts; present where no namespace ends what runs in the sandbox. */
  mark?: string;
  cgroups: string[];
  /** The tree of the image store that is its root. */
  tree?: string;
}

export interface RuntimeRecord extends RecordDraft {
  /** Host number of process 1 and its start in ticks since boot. */
  pid: number;
  pid_start: number;
  /** The runner that waits for process 1, outside of the sandbox. */
  runner_pid: number;
  runner_start: number;
  /** What connects for it, where it has a user-mode network. It ends with process 1. */
  network_pid?: number;
  network_start?: number;
}

/** Only a sandbox with a user-mode network has them. */
const MAYBE = ['network_pid', 'network_start'];
const COUNTS = ['pid', 'pid_start', 'runner_pid', 'runner_start'];

/** See readLocalRecord. */
export async function readRecord(folder: string): Promise<RuntimeRecord | undefined> {
  const record = await readLocalRecord<RuntimeRecord>(folder, { counts: COUNTS, maybe: MAYBE });
  const { cgroups, tree } = record ?? {};
  return cgroups && (tree === undefined || typeof tree === 'string') ? record : undefined;
}

/** Whether there is a run folder. Throws `unavailable` when it cannot be known. */
export async function hasFolder(folder: string): Promise<boolean> {
  return (await ifPresent(lstat(folder)))?.isDirectory() === true;
}
