// Lists runtimes by their run folders, which survive a restart of the server, and reports the ends of our monitors. The kernel does
// not report the end of a process that is not our child (most are not, after a restart), so this polls: one small file of /proc
// for each.
import { lstat } from 'node:fs/promises';
import { parseRuntimeName, runFolder, runtimeName, runtimeNames } from '../local/instance-folders.ts';
import { ifPresent } from '../local/presence.ts';
import type { RuntimeEvent, RuntimeListing, RuntimeRef, RuntimeState } from '../provider.ts';
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

const LOOK_MS = 1000;

/** Resolves when `signal` aborts. */
export async function watchRuntimes(
  state: MicrovmState,
  onEvent: (event: RuntimeEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let before: Map<string, RuntimeListing> | undefined;
  while (!signal.aborted) {
    const now = new Map((await listRuntimes(state)).map((each) => [each.runtime_id, each]));
    for (const event of before ? changes(before, now) : []) onEvent(event);
    before = now;
    await state.clock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
}

/** The events between two polls. A runtime that is first seen stopped has started and ended in between, or is still being created. */
function changes(
  before: ReadonlyMap<string, RuntimeListing>,
  now: ReadonlyMap<string, RuntimeListing>,
): RuntimeEvent[] {
  const brief = [...now.values()].filter((each) => !before.has(each.runtime_id) && each.state === 'stopped');
  const missed = brief.map(({ runtime_id, id, epoch }) => ({
    runtime_id,
    id,
    epoch,
    what: 'ended' as const,
  }));
  const seen = [...before.values()].flatMap(({ runtime_id, id, epoch, state }) => {
    const present = now.get(runtime_id);
    const ended = state === 'running' && present?.state !== 'running';
    const event = { runtime_id, id, epoch };
    return [
      ...(ended ? [{ ...event, what: 'ended' } as const] : []),
      ...(present ? [] : [{ ...event, what: 'removed' } as const]),
    ];
  });
  return [...missed, ...seen];
}
