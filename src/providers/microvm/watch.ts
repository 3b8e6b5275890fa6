// News of our monitors. Nothing tells of a process that is no child of ours (most are not, after a restart), so that their
// numbers are looked at: a look is one small file of /proc for each.
import type { RuntimeEvent, RuntimeListing } from '../provider.ts';
import { listRuntimes } from './listing.ts';
import type { MicrovmState } from './state.ts';

const LOOK_MS = 1000;

/** Resolves when `signal` aborts. */
export async function watchRuntimes(
  state: MicrovmState,
  heard: (event: RuntimeEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let before = new Map<string, RuntimeListing>();
  while (!signal.aborted) {
    const now = new Map((await listRuntimes(state)).map((each) => [each.runtime_id, each]));
    for (const event of changes(before, now)) heard(event);
    before = now;
    await state.clock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
}

/** From one look to the next; what was first seen stopped is no news. */
export function changes(
  before: ReadonlyMap<string, RuntimeListing>,
  now: ReadonlyMap<string, RuntimeListing>,
): RuntimeEvent[] {
  return [...before.values()].flatMap(({ runtime_id, id, epoch, state }) => {
    const present = now.get(runtime_id);
    const ended = state === 'running' && present?.state !== 'running';
    const event = { runtime_id, id, epoch };
    return [
      ...(ended ? [{ ...event, what: 'ended' } as const] : []),
      ...(present ? [] : [{ ...event, what: 'removed' } as const]),
    ];
  });
}
