// From an id in a request to the row behind it, for the caller who asks: the one place where ownership is checked.
import { visibleOwner } from '../../domain/access.ts';
import { ServiceError } from '../../domain/errors.ts';
import { hasEnded } from '../../domain/sandbox-state.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import { endedSandbox, unknownSandbox } from './views.ts';

export interface Finder {
  /** The row, whatever its state; undefined when there is none that the caller may see. */
  any(id: string, caller: Caller): Promise<SandboxRecord | undefined>;
  /** One that has not ended; else throws `not_found`, with the end's reason and time while it is remembered. */
  active(id: string, caller: Caller): Promise<SandboxRecord>;
  /** One that can be worked in; throws `conflict` while it is being created or destroyed. */
  usable(id: string, caller: Caller): Promise<SandboxRecord>;
}

export function finder(sandboxes: Pick<SandboxStore, 'get'>, rules: { enforce_owner: boolean }): Finder {
  const any: Finder['any'] = async (id, caller) => {
    const owner = visibleOwner(rules, caller);
    return seen(await sandboxes.get(id), owner);
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

/** `owner`: whose alone may be seen, where that is so. */
function seen(row: SandboxRecord | undefined, owner: string | undefined): SandboxRecord | undefined {
  return row && (owner === undefined || row.owner_id === owner) ? row : undefined;
}

function notNow(state: 'creating' | 'destroying'): ServiceError {
  return new ServiceError('conflict', `The sandbox is ${state}.`, {
    remedy: state === 'creating' ? 'Wait until it is running.' : 'Spawn a new one.',
  });
}
