// Sandboxes as the edges see them: each method calls the file that implements it.
import { visibleOwner } from '../../domain/access.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { Sandboxes } from '../api/control-plane.ts';
import { shownRow } from '../records/views.ts';
import type { Destroyer } from '../runtime/destroy.ts';
import type { Spawner } from '../spawn/spawn.ts';
import type { RemoteStatus } from '../workers/remote-status.ts';
import { type AdmissionDeps, admissionOf } from './admission.ts';
import { type ExtendDeps, extendSandbox } from './extend.ts';
import { listSandboxes } from './listing.ts';

const CHUNK = 100;

export interface SandboxesDeps extends ExtendDeps, AdmissionDeps {
  sandboxes: SandboxStore;
  spawner: Spawner;
  destroyer: Destroyer;
  remoteStatus: RemoteStatus;
  /** Called after writing a deadline that may be the nearest. */
  deadlineSet(): void;
}

export function sandboxes(deps: SandboxesDeps): Sandboxes {
  const { find, spawner, destroyer } = deps;
  return {
    spawn: spawner.spawn.bind(spawner),
    admission: (request, caller) => admissionOf(deps, request, caller),
    get: async (id, caller) => {
      const row = await find.active(id, caller);
      const { remoteStatus } = deps;
      const now = remoteStatus.isRemote(row) ? await remoteStatus.fresh(row) : row;
      await deps.fleet.abilities.learnOf([now]);
      return shownRow(caller, now, deps.settings);
    },
    list: (query, caller) => listSandboxes(deps, query, caller),
    destroy: async (id, caller) =>
      (await find.any(id, caller)) !== undefined && destroyer.destroy(id, 'destroyed', caller.actor),
    extend: (id, request, caller) => extendSandbox(deps, id, request, caller).finally(deps.deadlineSet),
    prune: (caller) => pruneSandboxes(deps, caller),
  };
}

/** Returns how many ended. A sandbox whose end cannot be confirmed is retried later and not counted. */
async function pruneSandboxes(deps: SandboxesDeps, caller: Caller): Promise<number> {
  const owner = visibleOwner(deps.settings, caller);
  let pruned = 0;
  for (;;) {
    const due = await deps.sandboxes.due(new Date(deps.clock.now()).toISOString(), CHUNK, owner);
    const ended = await Promise.all(
      due.map(({ id }) => deps.destroyer.destroy(id, 'pruned', caller.actor).catch(() => false)),
    );
    const count = ended.filter(Boolean).length;
    pruned += count;
    // All of these rows are marked by now; a chunk that was not full was the last.
    if (due.length < CHUNK || count === 0) return pruned;
  }
}
