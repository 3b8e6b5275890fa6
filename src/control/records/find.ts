// Finds the row for an id, for the caller that asks: ownership is checked only here.
import { visibleOwner } from '../../domain/access.ts';
import { ServiceError } from '../../domain/errors.ts';
import { hasEnded } from '../../domain/sandbox-state.ts';
import type { SandboxRecord, SandboxStore, SandboxWithQuota } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import { endedSandbox, unknownSandbox } from './views.ts';

export interface Finder {
  /** The row in any state; undefined when there is none that the caller may see. */
  any(id: string, caller: Caller): Promise<SandboxRecord | undefined>;
  /** A row that has not ended. Throws `not_found`, with the reason and time of the end while it is kept. */
  active(id: string, caller: Caller): Promise<SandboxRecord>;
  /** A row that can be used. Throws `conflict` while it is being created or destroyed. */
  usable(id: string, caller: Caller): Promise<SandboxRecord>;
  /** The same with the quota of its owner, in one read of the store; here and below. */
  usableWithQuota(id: string, caller: Caller): Promise<SandboxWithQuota>;
  activeWithQuota(id: string, caller: Caller): Promise<SandboxWithQuota>;
}

export function finder(
  sandboxes: Pick<SandboxStore, 'get' | 'getWithQuota'>,
  rules: { enforce_owner: boolean },
): Finder {
  const isVisible = (row: SandboxRecord | undefined, caller: Caller) => {
    const owner = visibleOwner(rules, caller);
    return owner === undefined || row?.owner_id === owner;
  };
  const any: Finder['any'] = async (id, caller) => {
    const row = await sandboxes.get(id);
    return isVisible(row, caller) ? row : undefined;
  };
  const withQuota = async (id: string, caller: Caller) => {
    const known = await sandboxes.getWithQuota(id);
    if (!known || !isVisible(known.sandbox, caller)) throw unknownSandbox();
    return known;
  };
  return {
    any,
    active: async (id, caller) => requireActive(await any(id, caller)),
    usable: async (id, caller) => requireUsable(await any(id, caller)),
    activeWithQuota: async (id, caller) => {
      const known = await withQuota(id, caller);
      requireActive(known.sandbox);
      return known;
    },
    usableWithQuota: async (id, caller) => {
      const known = await withQuota(id, caller);
      requireUsable(known.sandbox);
      return known;
    },
  };
}

function requireActive(row: SandboxRecord | undefined): SandboxRecord {
  if (!row) throw unknownSandbox();
  if (hasEnded(row.state)) throw endedSandbox(row);
  return row;
}

function requireUsable(found: SandboxRecord | undefined): SandboxRecord {
  const row = requireActive(found);
  if (row.state === 'creating' || row.state === 'destroying') throw notNow(row.state);
  return row;
}

function notNow(state: 'creating' | 'destroying'): ServiceError {
  return new ServiceError('conflict', `The sandbox is ${state}.`, {
    remedy: state === 'creating' ? 'Wait until it is running.' : 'Spawn a new one.',
  });
}
