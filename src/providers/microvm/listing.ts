// Runtimes as the run folders tell: they are what a restarted server still knows.
import { lstat } from 'node:fs/promises';
import type { RuntimeListing, RuntimeRef, RuntimeState } from '../provider.ts';
import { parseRuntimeName, runFolder, runtimeName } from '../userspace/places.ts';
import { ifPresent } from '../userspace/presence.ts';
import { isRunning } from './destroy.ts';
import { isTemplateRun, runtimeNames } from './places.ts';
import { readRecord } from './record.ts';
import type { MicrovmState } from './state.ts';

export async function inspectRuntime(state: MicrovmState, ref: RuntimeRef): Promise<RuntimeState> {
  return (await describe(state, runtimeName(ref)))?.state ?? 'gone';
}

/** A folder without a record is listed as stopped: something has to be cleared. */
export async function listRuntimes(state: MicrovmState): Promise<RuntimeListing[]> {
  const names = await runtimeNames(state.places);
  const shown = names.filter((name) => !isTemplateRun(name));
  const listings = await Promise.all(shown.map((name) => describe(state, name)));
  return listings.filter((listing) => listing !== undefined);
}

async function describe(state: MicrovmState, name: string): Promise<RuntimeListing | undefined> {
  const label = parseRuntimeName(name);
  const folder = runFolder(state.places, name);
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
