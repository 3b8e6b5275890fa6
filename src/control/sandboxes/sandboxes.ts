// Sandboxes as the edges see them: each method calls the file that implements it.
import type { SandboxStore } from '../../store/store.ts';
import type { Sandboxes } from '../api/control-plane.ts';
import { shownRow } from '../records/views.ts';
import type { Destroyer } from '../runtime/destroy.ts';
import type { Spawner } from '../spawn/spawn.ts';
import type { RemoteStatus } from '../workers/remote-status.ts';
import { type AdmissionDeps, admissionOf } from './admission.ts';
import { type ExtendDeps, extendSandbox } from './extend.ts';
import { listSandboxes } from './listing.ts';
import { type PruneDeps, pruneSandboxes } from './prune.ts';

export interface SandboxesDeps extends ExtendDeps, PruneDeps, AdmissionDeps {
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
    spawn: (request, caller, { idempotencyKey }, signal) =>
      spawner.spawn(request, caller, { key: idempotencyKey, path: '/sandboxes' }, signal),
    admission: (request, caller) => admissionOf(deps, request, caller),
    get: async (id, caller) => {
      const row = await find.active(id, caller);
      const { remoteStatus } = deps;
      const now = remoteStatus.isRemote(row) ? await remoteStatus.fresh(row) : row;
      return shownRow(caller, now, deps.settings);
    },
    list: (query, caller) => listSandboxes(deps, query, caller),
    destroy: async (id, caller) =>
      (await find.any(id, caller)) !== undefined && destroyer.destroy(id, 'destroyed', caller.actor),
    extend: (id, request, caller) => extendSandbox(deps, id, request, caller).finally(deps.deadlineSet),
    prune: (caller) => pruneSandboxes(deps, caller),
  };
}
