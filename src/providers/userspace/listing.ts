// Lists runtimes by their run folders, which survive a restart of the server.
import { lstat } from 'node:fs/promises';
import {
  isTrial,
  parseRuntimeName,
  runFolder,
  runtimeName,
  runtimeNames,
} from '../local/instance-folders.ts';
import { ifPresent } from '../local/presence.ts';
import type { RuntimeListing, RuntimeRef, RuntimeState } from '../provider.ts';
import { isRunning } from './destroy.ts';
import { hasFolder, readRecord } from './record.ts';
import type { UserspaceState } from './state.ts';

export async function inspectRuntime(state: UserspaceState, ref: RuntimeRef): Promise<RuntimeState> {
  const folder = runFolder(state.folders, runtimeName(ref));
  const record = await readRecord(folder);
  if (record) return (await isRunning(state, record)) ? 'running' : 'stopped';
  return (await hasFolder(folder)) ? 'stopped' : 'gone';
}

/** A folder without a record is listed as stopped: something has to be cleared. */
export async function listRuntimes(state: UserspaceState): Promise<RuntimeListing[]> {
  const names = (await runtimeNames(state.folders)).filter((name) => !isTrial(name));
  const listings = await Promise.all(names.map((name) => describe(state, name)));
  return listings.filter((listing) => listing !== undefined);
}

async function describe(state: UserspaceState, name: string): Promise<RuntimeListing | undefined> {
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
