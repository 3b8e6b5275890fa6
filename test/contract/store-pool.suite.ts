// Places in VMs of the pool: taken in the reservation, and given up with the last sandbox.
import { expect, it } from 'vitest';
import type { AdmissionLimits } from '../../src/domain/admission.ts';
import { NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const POOL: AdmissionLimits = { ...NO_CAP, pool: { max_vms: 2, max_users_per_vm: 2 } };
const MADE = { runtime_id: 'rt-1', image: 'host', memory_mb: 256, vcpus: 1, warnings: ['w'] };
let count = 0;

export function pooling({ store, change }: Given): void {
  const reserve = (owner_id: string, limits = POOL) =>
    store().sandboxes.reserve({
      sandbox: sandboxRecord({ owner_id, vm_id: `vm-${++count}` }),
      limits,
      events: [],
    });
  const placed = async (owner_id: string, limits = POOL) => {
    const reservation = await reserve(owner_id, limits);
    if (reservation.kind !== 'reserved') throw new Error(reservation.kind);
    return reservation.sandbox;
  };

  it('keeps a user in one VM, shares it with others, and makes another when it is full', async () => {
    const [a, b, a2, c] = [await placed('a'), await placed('b'), await placed('a'), await placed('c')];
    expect([b.vm_id, a2.vm_id]).toEqual([a.vm_id, a.vm_id]);
    expect(c.vm_id).not.toBe(a.vm_id);
    expect(new Set([a, b, a2, c].map(({ uid }) => uid)).size).toBe(4);
    expect(await store().sandboxes.get(a2.id)).toEqual(a2);
    expect(await store().pool.usage()).toEqual({ vms: 2, users: 3 });
    expect((await store().pool.all()).map(({ id, state }) => [id, state])).toEqual([
      [a.vm_id, 'creating'],
      [c.vm_id, 'creating'],
    ]);
  });

  it('refuses when no VM has a free place, and writes nothing', async () => {
    for (const owner of ['a', 'b', 'c', 'd']) await placed(owner);
    const denied = await reserve('e');
    expect(denied).toMatchObject({ kind: 'denied', decision: { reason: 'pool_full' } });
    expect((await store().sandboxes.countActive()).total).toBe(4);
    await placed('a');
  });

  it('makes a VM running once', async () => {
    const { vm_id = '' } = await placed('a');
    expect(await store().pool.running(vm_id, MADE)).toMatchObject({ id: vm_id, state: 'running', ...MADE });
    expect(await store().pool.running(vm_id, MADE)).toBeUndefined();
    expect(await store().pool.get(vm_id)).toEqual({
      ...{ id: vm_id, state: 'running', provider: 'userspace', created_at: stamp(), ...MADE },
    });
    expect(await store().pool.get('vm-none')).toBeUndefined();
  });

  it('retires a VM with its last sandbox, and places no sandbox in it afterwards', async () => {
    const [a, b] = [await placed('a'), await placed('b')];
    const { vm_id = '' } = a;
    expect(await store().pool.retire(vm_id)).toBeUndefined();
    expect(await store().pool.retire(vm_id, { but: a.id })).toBeUndefined();
    await change(b, { state: 'destroying' });
    expect(await store().pool.retire(vm_id, { but: a.id })).toMatchObject({ id: vm_id, state: 'destroying' });
    expect(await store().pool.running(vm_id, MADE)).toBeUndefined();
    expect((await placed('a')).vm_id).not.toBe(vm_id);
    await store().pool.remove(vm_id);
    expect(await store().pool.get(vm_id)).toBeUndefined();
  });

  it('retires a lost VM that has sandboxes, and removes only retired VMs', async () => {
    const { vm_id = '' } = await placed('a');
    await store().pool.remove(vm_id);
    expect(await store().pool.retire(vm_id, { lost: true })).toMatchObject({ state: 'destroying' });
    expect(await store().pool.retire(vm_id)).toMatchObject({ state: 'destroying' });
    expect(await store().pool.retire('vm-none')).toBeUndefined();
  });

  it('leaves sandboxes without a pool alone', async () => {
    const reservation = await store().sandboxes.reserve({
      sandbox: sandboxRecord({ owner_id: 'a' }),
      limits: NO_CAP,
      events: [],
    });
    if (reservation.kind !== 'reserved') throw new Error(reservation.kind);
    expect('vm_id' in reservation.sandbox || 'uid' in reservation.sandbox).toBe(false);
    expect(await store().pool.all()).toEqual([]);
  });
}
