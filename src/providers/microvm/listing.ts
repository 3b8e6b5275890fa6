// Lists runtimes by their run folders, which survive a restart of the server.
import { lstat } from 'node:fs/promises';
import { parseRuntimeName, runFolder, runtimeName, runtimeNames } from '../local/instance-folders.ts';
import { ifPresent } from '../local/presence.ts';
import type { RuntimeListing, RuntimeRef, RuntimeState } from '../provider.ts';
import { isRunning } from './destroy.ts';
import { isSnapshotRun } from './folders.ts';
import { readRecord } from './record.ts';
import type { MicrovmState } from './state.ts';

export async function inspectRuntime(state: MicrovmState, ref: RuntimeRef): Promise<RuntimeState> {
  return (await describe(state, runtimeName(ref)))?.state ?? 'gone';
}

/** A folder without a record is listed as stopped: something has to be cleared. */
export async function listRuntimes(state: MicrovmState): Promise<RuntimeListing[]> {
  const names = await runtimeNames(state.folders);
  const shown = names.filter((name) => !isSnapshotRun(name));
  const listings = await Promise.all(shown.map((name) => describe(state, name)));
  return listings.filter((listing) => listing !== undefined);
}

async function describe(state: MicrovmState, name: string): Promise<RuntimeListing | undefined> {
  const label = parseRuntimeName(name);
  const folder = runFolder(state.folders, name);
  const facts = await ifPresent(lstat(folder));
  if (!label || !facts?.isDirectory()) return undefined;
  const record = await readRecord(folder);
  const isAlive = record !== undefined && (await isRunning(state, record));
  return {
    runtime_id: name,
    ...label,
    state: isAlive ? 'running' : 'stopped',
    created_at: record?.created_at ?? facts.ctime.toISOString(),
  };
}
