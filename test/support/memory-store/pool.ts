// VMs of the pool as a map: the reference twin of sqlite/pool.ts.

import type { PoolVm } from '../../../src/domain/pool.ts';
import { choosePlace, POOL_UIDS, type PoolLimits, poolUid } from '../../../src/domain/pool.ts';
import { hasEnded } from '../../../src/domain/sandbox-state.ts';
import type { PoolStore } from '../../../src/store/seam/pool.ts';
import type { SandboxRecord } from '../../../src/store/store.ts';

export interface PoolTables {
  sandboxes: ReadonlyMap<string, SandboxRecord>;
  vms: Map<string, PoolVm & { uids_before: number }>;
  uids: { given: number };
}

const copy = <T>(value: T): T => structuredClone(value);
const shown = (vm: (PoolVm & { uids_before: number }) | undefined): PoolVm | undefined => {
  if (!vm) return undefined;
  const { uids_before: _, ...rest } = vm;
  return copy(rest);
};

export function memoryPool(tables: PoolTables): PoolStore {
  const { vms } = tables;
  return {
    get: async (id) => shown(vms.get(id)),
    all: async () => [...vms.values()].map((vm) => shown(vm) as PoolVm),
    running: async (id, made) => {
      const vm = vms.get(id);
      if (vm?.state !== 'creating') return undefined;
      return shown(Object.assign(vm, copy(made), { state: 'running' }));
    },
    retire: async (id, { but = '', lost = false } = {}) => {
      const vm = vms.get(id);
      const isUsed = onVm(tables, id).some((row) => row.state !== 'destroying' && row.id !== but);
      if (!vm || (vm.state !== 'destroying' && isUsed && !lost)) return undefined;
      return shown(Object.assign(vm, { state: 'destroying' }));
    },
    remove: async (id) => {
      if (vms.get(id)?.state === 'destroying') vms.delete(id);
    },
    usage: async () => ({
      vms: vms.size,
      users: usersOf([...tables.sandboxes.values()].filter((row) => row.vm_id && !hasEnded(row.state))),
    }),
  };
}

export function findPlace(
  tables: PoolTables,
  sandbox: Pick<SandboxRecord, 'provider' | 'owner_id'>,
  limits: PoolLimits,
) {
  const candidates = [...tables.vms.values()]
    .filter((vm) => vm.state !== 'destroying' && vm.provider === sandbox.provider)
    .filter((vm) => tables.uids.given - vm.uids_before < POOL_UIDS)
    .map(({ id }) => {
      const rows = onVm(tables, id);
      return { id, users: usersOf(rows), is_users: rows.some((row) => row.owner_id === sandbox.owner_id) };
    });
  return choosePlace(candidates, tables.vms.size, limits);
}

/** Of a sandbox that was admitted: there is one. */
export function takePlace(tables: PoolTables, sandbox: SandboxRecord, limits: PoolLimits): SandboxRecord {
  const place = findPlace(tables, sandbox, limits) ?? 'new';
  const { vm_id = '', provider, image, memory_mb, vcpus, created_at } = sandbox;
  const made = { id: vm_id, provider, image, memory_mb, vcpus, created_at, warnings: [] };
  if (place === 'new') tables.vms.set(vm_id, { ...made, state: 'creating', uids_before: tables.uids.given });
  const uid = poolUid(tables.uids.given++);
  return { ...sandbox, uid, ...(place !== 'new' && { vm_id: place.vm_id }) };
}

function onVm({ sandboxes }: PoolTables, id: string): SandboxRecord[] {
  return [...sandboxes.values()].filter((row) => row.vm_id === id && !hasEnded(row.state));
}

const usersOf = (rows: readonly SandboxRecord[]) => new Set(rows.map(({ owner_id }) => owner_id)).size;
