// Sandboxes that share VMs, over a provider in memory: who goes where, who sees whom, when a VM begins and ends. That
// they are really kept apart inside is test/contract/pool-tenants.suite.ts.
import { describe, expect, it } from 'vitest';
import { Vms } from '../../../../src/control/pool/vms.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { providerSet } from '../../../../src/providers/registry.ts';
import type { PoolStore } from '../../../../src/store/seam/pool.ts';
import { admin, forever, owned, roomy, type World, world } from '../../../support/servers/control.ts';

const POOL = { enabled: true, image: 'host', max_vms: 2, max_users_per_vm: 2 } as const;
const UNAVAILABLE = { code: 'unavailable', status: 503 };

function pooled(defaults = {}, pool = {}): World {
  return world({ pool: { ...POOL, ...pool }, auth: { enforce_owner: true }, defaults });
}
const spawn = (w: World, user: string, request = {}) =>
  w.control.sandboxes.spawn(request, owned(user), {}, forever);
const destroy = (w: World, user: string, id: string) => w.control.sandboxes.destroy(id, owned(user));
const vmOf = async (w: World, id: string) => (await w.store.sandboxes.get(id))?.vm_id;
const runtimes = (w: World) => [...w.fake.runtimes.values()].map(({ id }) => id);
const status = (w: World) => w.control.pool.status();

describe('a slot in a VM', () => {
  it('is in the VM of its user, else in the first VM with capacity, else in a new one', async () => {
    const w = pooled();
    const ids: string[] = [];
    for (const user of ['ann', 'bob', 'cid', 'ann']) ids.push((await spawn(w, user)).id);
    const [ann, bob, cid, again] = await Promise.all(ids.map((id) => vmOf(w, id)));
    expect(bob).toBe(ann);
    expect(again).toBe(ann);
    expect(cid).not.toBe(ann);
    expect(runtimes(w).sort()).toEqual([ann, cid].sort());
    expect(await status(w)).toEqual({
      ...{ enabled: true, vms: 2, max_vms: 2, total_users: 3, max_users_per_vm: 2 },
    });
  });

  it('shows the limitations of its VM in health, for as long as the VM exists', async () => {
    const w = pooled();
    const create = w.fake.create;
    w.provider.create = async (spec, signal) => ({
      ...(await create(spec, signal)),
      warnings: ['no bounds.'],
    });
    const warnings = async () => (await w.control.health.health(true)).warnings ?? [];
    expect(await warnings()).not.toContain('no bounds.');
    const { id } = await spawn(w, 'ann');
    await spawn(w, 'bob');
    expect((await warnings()).filter((one) => one === 'no bounds.')).toHaveLength(1);
    expect(await w.control.health.health(false)).not.toHaveProperty('warnings');
    expect(id).toMatch(/^sb-/);
  });

  it('makes one VM for many users at once', async () => {
    const w = pooled({}, { max_users_per_vm: 10 });
    const many = Array.from({ length: 10 }, (_, n) => spawn(w, `user-${n}`));
    expect(await Promise.all(many)).toHaveLength(10);
    expect(runtimes(w)).toHaveLength(1);
    const [vm] = w.fake.runtimes.values();
    expect(new Set(vm?.everTenants).size).toBe(10);
  });

  it('has a uid that no earlier tenant of the VM had', async () => {
    const w = pooled();
    const kept = await spawn(w, 'ann');
    for (let n = 0; n < 5; n += 1) await destroy(w, 'bob', (await spawn(w, 'bob')).id);
    const [vm] = w.fake.runtimes.values();
    expect(vm?.everTenants).toHaveLength(6);
    expect(new Set(vm?.everTenants).size).toBe(6);
    expect([...(vm?.tenants ?? [])]).toEqual([(await w.store.sandboxes.get(kept.id))?.uid]);
  });

  it('is refused when all are taken, unless spawns queue', async () => {
    const w = pooled({}, { max_vms: 1, max_users_per_vm: 1 });
    await spawn(w, 'ann');
    await spawn(w, 'ann');
    await expect(spawn(w, 'bob')).rejects.toMatchObject({ ...UNAVAILABLE, details: { reason: 'pool_full' } });
    expect(await w.control.sandboxes.admission({}, owned('bob'))).toMatchObject({
      ...{ allowed: false, reason: 'pool_full', queueable: false },
    });
  });

  it('is queued for, and given when the last sandbox of a VM ends', async () => {
    const w = pooled({ spawn_overflow: 'queue' }, { max_vms: 1, max_users_per_vm: 1 });
    await w.control.start();
    const first = await spawn(w, 'ann');
    const waiting = spawn(w, 'bob');
    await w.clock.advance(10);
    await destroy(w, 'ann', first.id);
    await w.clock.advance(1000);
    expect((await waiting).state).toBe('running');
    expect(runtimes(w)).toEqual([await vmOf(w, (await waiting).id)]);
    await w.control.stop();
  });

  it('does not delay users who have a VM while others wait for one', async () => {
    const w = pooled({ spawn_overflow: 'queue', max_sandboxes: 3 }, { max_vms: 1, max_users_per_vm: 2 });
    const bobs = [await spawn(w, 'ann'), await spawn(w, 'bob')][1]!;
    const started: string[] = [];
    const waiting = async (user: string) => {
      const sandbox = await spawn(w, user);
      started.push(user);
      return sandbox;
    };
    const [cid, dan] = [waiting('cid'), waiting('dan')];
    await w.clock.advance(10);
    // There is room for a third sandbox, not for a third user.
    const second = await waiting('ann');
    const third = waiting('ann');
    await w.clock.advance(10);
    expect(started).toEqual(['ann']);
    // Cid's turn comes first, and is of no use to Cid.
    await destroy(w, 'ann', second.id);
    await third;
    expect(started).toEqual(['ann', 'ann']);
    await destroy(w, 'bob', bobs.id);
    await destroy(w, 'cid', (await cid).id);
    await dan;
    expect(started).toEqual(['ann', 'ann', 'cid', 'dan']);
  });
});

describe('the spawn of a user', () => {
  it.each([
    [{ image: 'other' }, 'image'],
    [{ provider: 'container' }, 'provider'],
    [{ network: 'none' }, 'network'],
  ])('refuses %o', async (request, word) => {
    const w = pooled();
    await expect(spawn(w, 'ann', request)).rejects.toMatchObject({
      ...{ code: 'bad_request', remedy: expect.stringContaining(word) },
    });
    expect(runtimes(w)).toEqual([]);
  });

  it('accepts the image and provider of the pool, and warns about shared limits', async () => {
    const sandbox = await spawn(pooled(), 'ann', { image: 'host', provider: 'userspace', memory_mb: 16 });
    expect(sandbox.warnings).toEqual([expect.stringMatching(/^memory_mb: /)]);
  });

  it('is refused without a user, also where the HTTP layer admitted it', async () => {
    const nobody = pooled().control.sandboxes.spawn({}, admin, {}, forever);
    await expect(nobody).rejects.toMatchObject({ code: 'bad_request', message: 'X-User-ID is missing.' });
  });

  it('fails at the start where no provider can host the pool', () => {
    const w = world();
    const alone = () => world({ pool: POOL, providers: { default: 'container' } as never });
    expect(w.provider.hostsPools).toBe(true);
    expect(alone).toThrow(/pool\.enabled needs a provider/);
  });
});

describe('the sandboxes and VMs of others', () => {
  it('are hidden', async () => {
    const w = pooled();
    const [ann, bob] = [await spawn(w, 'ann'), await spawn(w, 'bob')];
    await expect(w.control.sandboxes.get(ann.id, owned('bob'))).rejects.toMatchObject({ status: 404 });
    await expect(
      w.control.exec.run(ann.id, { command: 'x' }, owned('bob'), forever, roomy),
    ).rejects.toMatchObject({
      status: 404,
    });
    await destroy(w, 'bob', ann.id);
    expect((await w.control.sandboxes.get(ann.id, owned('ann'))).state).toBe('running');
    const seen = await w.control.sandboxes.list({}, owned('bob'));
    expect(seen.sandboxes.map(({ id }) => id)).toEqual([bob.id]);
    const all = await w.control.sandboxes.list({ include_ended: true }, admin);
    expect(all.sandboxes.map(({ id }) => id).sort()).toEqual([ann.id, bob.id].sort());
    const vm = await vmOf(w, ann.id);
    expect(JSON.stringify(await w.events())).not.toContain(vm);
  });
});

describe('a VM', () => {
  it('ends with its last sandbox, not before', async () => {
    const w = pooled();
    const [ann, bob] = [await spawn(w, 'ann'), await spawn(w, 'bob')];
    await destroy(w, 'ann', ann.id);
    expect(runtimes(w)).toHaveLength(1);
    const [vm] = w.fake.runtimes.values();
    expect(vm?.tenants.size).toBe(1);
    await destroy(w, 'bob', bob.id);
    expect(runtimes(w)).toEqual([]);
    expect(await status(w)).toMatchObject({ vms: 0, total_users: 0 });
  });

  it('survives a restart with its sandboxes', async () => {
    const w = pooled();
    const ann = await spawn(w, 'ann');
    await w.restart();
    const bob = await spawn(w, 'bob');
    expect(await vmOf(w, bob.id)).toBe(await vmOf(w, ann.id));
    const answered = await w.control.exec.run(ann.id, { command: 'true' }, owned('ann'), forever, roomy);
    expect(answered).toHaveProperty('exec_id');
    await destroy(w, 'ann', ann.id);
    await destroy(w, 'bob', bob.id);
    expect(runtimes(w)).toEqual([]);
    await w.control.stop();
  });

  it('that a server left unfinished gets no users after a restart: its runtime may still arrive', async () => {
    const w = pooled();
    // One runtime of the old server is late, the comparison at the start hears of none.
    w.provider.decide = (operation, call) =>
      (operation === 'create' && call === 1) || operation === 'list' ? 'late' : undefined;
    spawn(w, 'ann').catch(() => undefined);
    await w.clock.advance(10);
    const [unmade] = await w.store.pool.all();
    const restarted = w.restart();
    // It reads the time before it lists.
    await w.clock.advance(0);
    await w.clock.advance(6000);
    await restarted;
    const bob = await spawn(w, 'bob');
    expect(await vmOf(w, bob.id)).not.toBe(unmade?.id);
    w.provider.decide = () => undefined;
    w.provider.release();
    await w.clock.advance(200_000);
    expect(runtimes(w)).toEqual([await vmOf(w, bob.id)]);
    expect(new Set(w.fake.made).size).toBe(w.fake.made.length);
    await w.control.stop();
  });

  it('that a server left unfinished and cannot retire yet gets no users, and ends at the next comparison', async () => {
    const w = pooled();
    await spawn(w, 'ann');
    const [vm] = await w.store.pool.all();
    const unmade = { ...vm!, state: 'creating' as const };
    let isLocked = true;
    const retire: PoolStore['retire'] = async (...args) => {
      if (isLocked) throw new ServiceError('unavailable', 'The database is locked.');
      return w.store.pool.retire(...args);
    };
    const pool = { ...w.store.pool, all: async () => [unmade], get: async () => unmade, retire };
    const vms = new Vms({ ...w, pool, providers: providerSet([w.provider]) });
    await vms.start();
    await expect(vms.ready(unmade, 'host', forever)).rejects.toMatchObject({ code: 'unavailable' });
    expect(w.fake.made).toHaveLength(1);
    isLocked = false;
    await vms.sweep(unmade.provider);
    expect([runtimes(w), await w.store.pool.all()]).toEqual([[], []]);
  });

  it('is not created again for a user who joined during its creation', async () => {
    const w = pooled();
    await spawn(w, 'ann');
    const [vm] = await w.store.pool.all();
    const vms = new Vms({ ...w, pool: w.store.pool, providers: providerSet([w.provider]) });
    const unmade = { ...vm!, state: 'creating' as const };
    expect(await vms.ready(unmade, 'host', forever)).toEqual(vm);
    await w.store.pool.retire(unmade.id, { lost: true });
    await expect(vms.ready(unmade, 'host', forever)).rejects.toMatchObject({ code: 'unavailable' });
    expect(w.fake.made).toHaveLength(1);
  });

  it('that cannot be created fails its spawn and leaves nothing behind', async () => {
    const w = pooled();
    w.provider.decide = (operation) => (operation === 'create' ? 'fail' : undefined);
    await expect(spawn(w, 'ann')).rejects.toMatchObject({ code: 'provider_error' });
    w.provider.decide = () => undefined;
    expect([runtimes(w), await w.store.pool.all()]).toEqual([[], []]);
    expect((await spawn(w, 'ann')).state).toBe('running');
  });
});
