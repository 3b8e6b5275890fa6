// Finds the row for an id, for the caller that asks: ownership is checked only here.
import { visibleOwner } from '../../domain/access.ts';
import { ServiceError } from '../../domain/errors.ts';
import { hasEnded } from '../../domain/sandbox-state.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import { endedSandbox, unknownSandbox } from './views.ts';

export interface Finder {
  /** The row in any state; undefined when there is none that the caller may see. */
  any(id: string, caller: Caller): Promise<SandboxRecord | undefined>;
  /** A row that has not ended. Throws `not_found`, with the reason and time of the end while it is kept. */
  active(id: string, caller: Caller): Promise<SandboxRecord>;
  /** A row that can be used. Throws `conflict` while it is being created or destroyed. */
  usable(id: string, caller: Caller): Promise<SandboxRecord>;
}

export function finder(sandboxes: Pick<SandboxStore, 'get'>, rules: { enforce_owner: boolean }): Finder {
  const any: Finder['any'] = async (id, caller) => {
    const owner = visibleOwner(rules, caller);
    const row = await sandboxes.get(id);
    return owner === undefined || row?.owner_id === owner ? row : undefined;
  };
  const active: Finder['active'] = async (id, caller) => {
    const row = await any(id, caller);
    if (!row) throw unknownSandbox();
    if (hasEnded(row.state)) throw endedSandbox(row);
    return row;
  };
  const usable: Finder['usable'] = async (id, caller) => {
    const row = await active(id, caller);
    if (row.state === 'creating' || row.state === 'destroying') throw notNow(row.state);
    return row;
  };
  return { any, active, usable };
}

function notNow(state: 'creating' | 'destroying'): ServiceError {
  return new ServiceError('conflict', `The sandbox is ${state}.`, {
    remedy: state === 'creating' ? 'Wait until it is running.' : 'Spawn a new one.',
  });
}
