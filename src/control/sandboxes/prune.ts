// Ends expired sandboxes now, without waiting for the reaper.
import { visibleOwner } from '../../domain/access.ts';
import type { Clock } from '../../domain/ports.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { Settings } from '../records/settings.ts';
import type { Destroyer } from '../runtime/destroy.ts';

const CHUNK = 100;

export interface PruneDeps {
  sandboxes: Pick<SandboxStore, 'due'>;
  destroyer: Destroyer;
  clock: Clock;
  settings: Settings;
}

/**
 * Returns how many ended. Under owner enforcement only those of the caller. A sandbox whose end cannot be confirmed is
 * retried later and not counted.
 */
export async function pruneSandboxes(deps: PruneDeps, caller: Caller): Promise<number> {
  const owner = visibleOwner(deps.settings, caller);
  let pruned = 0;
  for (;;) {
    const due = await deps.sandboxes.due(new Date(deps.clock.now()).toISOString(), CHUNK, owner);
    const ended = await Promise.all(
      due.map(({ id }) => deps.destroyer.destroy(id, 'pruned', caller.actor).catch(() => false)),
    );
    pruned += ended.filter((gone) => gone).length;
    // All of these rows are marked by now; a chunk that was not full was the last.
    if (due.length < CHUNK) return pruned;
    if (!ended.some((gone) => gone)) return pruned;
  }
}
