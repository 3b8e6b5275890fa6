// Lists runtimes, and reports the ends of our monitors. The kernel does not report the end of a process that is not our child (most
// are not, after a restart), so this polls: one small file of /proc for each.
import { inspectLocal, listLocal } from '../local/runtimes.ts';
import type { RuntimeEvent, RuntimeListing, RuntimeRef } from '../provider.ts';
import { isRunning } from './destroy.ts';
import { isSnapshotRun } from './folders.ts';
import { type RuntimeRecord, readRecord } from './record.ts';
import type { MicrovmState } from './state.ts';

const runtimesOf = (state: MicrovmState) => ({
  folders: state.folders,
  readRecord,
  isHidden: isSnapshotRun,
  isRunning: (record: RuntimeRecord) => isRunning(state, record),
});

export const inspectRuntime = (state: MicrovmState, ref: RuntimeRef) => inspectLocal(runtimesOf(state), ref);

export const listRuntimes = (state: MicrovmState) => listLocal(runtimesOf(state));

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
