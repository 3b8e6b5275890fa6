// Spawns that wait: who is next, how long, what ends a wait, and that a newcomer overtakes nobody.
import { describe, expect, it } from 'vitest';
import { liveConfig } from '../../../../src/config/live-config.ts';
import { testConfig } from '../../../support/config.ts';
import { api, forever, owned, type World, world } from '../../../support/servers/control.ts';

const QUEUE = { spawn_overflow: 'queue', spawn_queue_timeout: '30s' } as const;
const queueing = (defaults = {}) => world({ defaults: { ...QUEUE, max_sandboxes: 1, ...defaults } });
const LIMIT = { code: 'resource_limit', status: 429 };

/** A spawn whose outcome is looked at later. */
function spawning(w: World, owner?: string, more: { key?: string; signal?: AbortSignal } = {}) {
  const { key, signal = forever } = more;
  const caller = owner === undefined ? api : owned(owner);
  const options = key === undefined ? {} : { idempotencyKey: key };
  const spawn = w.control.sandboxes.spawn({ ttl: '1h' }, caller, options, signal);
  const seen: { id?: string; error?: unknown; spawn: typeof spawn } = { spawn };
  spawn.then(
    ({ id }) => Object.assign(seen, { id }),
    (error: unknown) => Object.assign(seen, { error }),
  );
  return seen;
}
const depth = async (w: World, caller = api) => (await w.control.sandboxes.admission({}, caller)).queue_depth;
const spawnEvents = async (w: World) => (await w.events()).filter(({ type }) => type.startsWith('spawn.'));

describe('a spawn without capacity', () => {
  it('waits, starts when capacity is free, and publishes both events', async () => {
    const w = queueing();
    const first = await spawning(w).spawn;
    const waiting = spawning(w, 'ann');
    await w.clock.advance(0);
    await w.clock.advance(2000);
    expect(waiting.id).toBeUndefined();
    expect(await w.control.sandboxes.admission({}, api)).toMatchObject({
      ...{ allowed: false, queueable: true, reason: 'max_sandboxes', queue_depth: 1 },
    });
    await w.control.sandboxes.destroy(first.id, api);
    const sandbox = await waiting.spawn;
    // Its life begins with its start, not with its wait.
    expect(Date.parse(sandbox.expires_at) - w.clock.now()).toBe(3_600_000);
    expect(await spawnEvents(w)).toMatchObject([
      { type: 'spawn.queued', owner_id: 'ann', data: { provider: 'userspace', owner_id: 'ann', depth: 1 } },
      { type: 'spawn.dequeued', owner_id: 'ann', data: { provider: 'userspace', wait_ms: 2000 } },
    ]);
    expect(await depth(w)).toBe(0);
  });

  it('asks for the place of a sandbox together with its end, so that both share a commit', async () => {
    const w = queueing();
    const first = await spawning(w).spawn;
    const waiting = spawning(w);
    await w.clock.advance(0);
    const { transition } = w.store.sandboxes;
    let answer = () => {};
    w.store.sandboxes.transition = async (change) => {
      const moved = await transition(change);
      if (change.patch.state === 'destroyed') await new Promise<void>((resolve) => (answer = resolve));
      return moved;
    };
    const ended = w.control.sandboxes.destroy(first.id, api);
    await w.clock.advance(0);
    expect(waiting.id).toBeDefined();
    answer();
    await ended;
  });

  it('starts when a reload raises the limit', async () => {
    const w = queueing();
    const config = liveConfig(w.config.current());
    w.config = config;
    await w.restart();
    await spawning(w).spawn;
    const waiting = spawning(w);
    await w.clock.advance(2000);
    expect(waiting.id).toBeUndefined();
    config.reload(testConfig({ defaults: { ...QUEUE, max_sandboxes: 2 } }));
    expect(await waiting.spawn).toMatchObject({ state: 'running' });
  });

  it('is refused when its wait is over, measured from the first enqueue', async () => {
    const w = queueing({ max_sandboxes: 2, max_sandboxes_per_owner: 1 });
    const [ann] = [await spawning(w, 'ann').spawn, await spawning(w, 'bob').spawn];
    const waiting = [spawning(w, 'bob'), spawning(w, 'cid')];
    await w.clock.advance(0);
    await w.clock.advance(20_000);
    // Bob is tried, lacks room of his own, and goes on waiting; Cid takes the place.
    await w.control.sandboxes.destroy(ann.id, api);
    await w.clock.advance(0);
    expect(waiting[1]?.id).toBeDefined();
    await w.clock.advance(9999);
    expect(waiting[0]?.error).toBeUndefined();
    await w.clock.advance(1);
    expect(waiting[0]?.error).toMatchObject({
      ...{ ...LIMIT, retryAfterMs: 1000, details: { reason: 'queue_timeout', wait_ms: 30_000 } },
    });
    expect((await spawnEvents(w)).at(-1)).toMatchObject({ type: 'spawn.queue_timeout', owner_id: 'bob' });
    expect((await w.events()).some(({ type }) => type === 'resource.limit')).toBe(true);
    expect(w.fake.made).toHaveLength(3);
  });

  it('is refused at once with a full queue, with a lifetime that is too long, and without a queue', async () => {
    const w = queueing({ max_spawn_queue: 2 });
    await spawning(w).spawn;
    const waiting = [spawning(w), spawning(w)];
    await w.clock.advance(0);
    await expect(spawning(w).spawn).rejects.toMatchObject({
      ...{ ...LIMIT, retryAfterMs: 1000, details: { reason: 'queue_full' } },
    });
    expect(await w.control.sandboxes.admission({}, api)).toMatchObject({ queueable: false });
    await expect(w.control.sandboxes.spawn({ ttl: '25h' }, api, {}, forever)).rejects.toMatchObject({
      details: { reason: 'max_ttl' },
    });
    expect(waiting.every(({ id, error }) => !id && !error)).toBe(true);
    const rejecting = queueing({ spawn_overflow: 'reject' });
    await spawning(rejecting).spawn;
    await expect(spawning(rejecting).spawn).rejects.toMatchObject({ details: { reason: 'max_sandboxes' } });
  });

  it('has a share of the queue: an owner that fills it yields only to other owners, newest first', async () => {
    const w = queueing({ max_spawn_queue: 6 });
    await spawning(w).spawn;
    const mallory = Array.from({ length: 6 }, () => spawning(w, 'mallory'));
    await w.clock.advance(0);
    // Alone it may have all, and no more than that; who has no owner takes nothing from it.
    await expect(spawning(w, 'mallory').spawn).rejects.toMatchObject({ details: { reason: 'queue_full' } });
    const ann = Array.from({ length: 4 }, () => spawning(w, 'ann'));
    await w.clock.advance(0);
    expect(mallory.map(({ error }) => error === undefined)).toEqual([true, true, true, false, false, false]);
    expect(mallory[5]?.error).toMatchObject({ ...LIMIT, details: { reason: 'queue_full' } });
    expect(ann.map(({ error }) => error === undefined)).toEqual([true, true, true, false]);
    const bob = Array.from({ length: 3 }, () => spawning(w, 'bob'));
    await w.clock.advance(0);
    expect(bob.map(({ error }) => error === undefined)).toEqual([true, true, false]);
    expect(await depth(w)).toBe(6);
    await w.control.sandboxes.destroy((await w.store.sandboxes.list({ limit: 1 }))[0]?.id ?? '', api);
    await w.clock.advance(0);
    expect([mallory[0]?.id !== undefined, await depth(w)]).toEqual([true, 5]);
  });

  it('without an owner may have all of the queue', async () => {
    const w = queueing({ max_spawn_queue: 3 });
    await spawning(w).spawn;
    const all = Array.from({ length: 3 }, () => spawning(w));
    await w.clock.advance(0);
    await expect(spawning(w, 'ann').spawn).rejects.toMatchObject({ details: { reason: 'queue_full' } });
    expect(all.some(({ error }) => error)).toBe(false);
  });

  it('leaves the queue with its client, unless its creation has started', async () => {
    const w = queueing();
    const first = await spawning(w).spawn;
    const gone = new AbortController();
    const [left, next] = [spawning(w, 'ann', { signal: gone.signal }), spawning(w, 'ann')];
    await w.clock.advance(0);
    gone.abort(new Error('gone'));
    await expect(left.spawn).rejects.toThrow('gone');
    expect(await depth(w)).toBe(1);
    await w.control.sandboxes.destroy(first.id, api);
    await next.spawn;
    expect(w.fake.made).toHaveLength(2);
    expect((await w.events()).some(({ type }) => type === 'operation.failed')).toBe(false);
  });

  it('is woken by every event that frees capacity', async () => {
    const w = queueing();
    await w.control.start();
    await w.control.sandboxes.spawn({ ttl: '5s' }, api, {}, forever);
    const afterExpiry = spawning(w);
    await w.clock.advance(5000);
    await w.clock.advance(0);
    const second = await afterExpiry.spawn;
    // A failed spawn gives its place back.
    w.provider.decide = (operation, call) => (operation === 'create' && call === 3 ? 'fail' : undefined);
    const [failing, last] = [spawning(w), spawning(w)];
    await w.control.sandboxes.destroy(second.id, api);
    await w.clock.advance(1000);
    await expect(failing.spawn).rejects.toMatchObject({ code: 'provider_error' });
    await last.spawn;
    expect((await w.store.sandboxes.countActive()).total).toBe(1);
  });

  it('is woken by a quota, and does not block others of the same owner', async () => {
    const w = queueing({ max_sandboxes: 0, max_sandboxes_per_owner: 1 });
    await spawning(w, 'ann').spawn;
    const waiting = [spawning(w, 'ann'), spawning(w, 'ann'), spawning(w, 'ann')];
    await w.clock.advance(0);
    // Nobody else is held up.
    await spawning(w, 'bob').spawn;
    await w.control.quotas.put('ann', { max_sandboxes: 3 }, api);
    await w.clock.advance(0);
    expect(waiting.map(({ id }) => id !== undefined)).toEqual([true, true, false]);
    // What no waiting can mend ends it.
    await w.control.quotas.put('ann', { max_sandboxes: 3, max_ttl: '1m' }, api);
    await w.clock.advance(0);
    expect(waiting[2]?.error).toMatchObject({ ...LIMIT, details: { reason: 'max_ttl' } });
    expect(await depth(w)).toBe(0);
  });

  it('does not overtake: a new spawn queues behind older ones', async () => {
    const w = queueing({ max_sandboxes: 2 });
    const ids = [(await spawning(w).spawn).id, (await spawning(w).spawn).id];
    const old = spawning(w, 'ann');
    await w.clock.advance(0);
    const destroyed = w.control.sandboxes.destroy(ids[0]!, api);
    const newcomer = spawning(w, 'bob');
    await destroyed;
    await old.spawn;
    await w.clock.advance(0);
    expect(newcomer.id).toBeUndefined();
    await w.control.sandboxes.destroy(ids[1]!, api);
    await newcomer.spawn;
  });

  it('is refused by a stop, and so are later spawns', async () => {
    const w = queueing();
    await spawning(w).spawn;
    const waiting = [spawning(w, 'ann'), spawning(w, 'bob')];
    await w.clock.advance(0);
    w.control.drain();
    for (const { spawn } of [...waiting, spawning(w)])
      await expect(spawn).rejects.toMatchObject({ code: 'unavailable', status: 503 });
    expect(w.fake.made).toHaveLength(1);
  });

  it('is refused with the error of a failing store, and others continue', async () => {
    const w = queueing();
    const first = await spawning(w).spawn;
    const reserve = w.store.sandboxes.reserve;
    const waiting = [spawning(w, 'ann'), spawning(w, 'bob')];
    await w.clock.advance(0);
    w.store.sandboxes.reserve = async (order) => {
      if (order.sandbox.owner_id === 'ann') throw new Error('no database');
      return reserve(order);
    };
    await w.control.sandboxes.destroy(first.id, api);
    await expect(waiting[0]?.spawn).rejects.toThrow('no database');
    await waiting[1]?.spawn;
  });
});

describe('an idempotency key in the queue', () => {
  it('shares one queue entry, and gets a stored answer without waiting', async () => {
    const w = queueing();
    const first = await spawning(w, 'ann', { key: 'k0' }).spawn;
    const gone = new AbortController();
    const same = [spawning(w, 'ann', { key: 'k', signal: gone.signal }), spawning(w, 'ann', { key: 'k' })];
    await w.clock.advance(0);
    expect(await depth(w)).toBe(1);
    expect((await spawning(w, 'ann', { key: 'k0' }).spawn).id).toBe(first.id);
    // One of two leaves: the other still waits.
    gone.abort(new Error('gone'));
    await expect(same[0]?.spawn).rejects.toThrow('gone');
    await w.control.sandboxes.destroy(first.id, api);
    const { id } = (await same[1]?.spawn)!;
    expect((await spawning(w, 'ann', { key: 'k' }).spawn).id).toBe(id);
    expect(w.fake.made).toHaveLength(2);
  });

  it('leaves the queue when all its callers have left', async () => {
    const w = queueing();
    await spawning(w).spawn;
    const gone = new AbortController();
    const left = spawning(w, 'ann', { key: 'k', signal: gone.signal });
    await w.clock.advance(0);
    gone.abort(new Error('gone'));
    await expect(left.spawn).rejects.toThrow('gone');
    await w.clock.advance(0);
    expect(await depth(w)).toBe(0);
  });
});

describe('the queue of a pool', () => {
  it('continues when a VM ends after its last sandboxes', async () => {
    const pool = { enabled: true, max_vms: 1, max_users_per_vm: 2 };
    const w = world({ defaults: QUEUE, pool });
    let entries = 0;
    w.provider.decide = (operation) => {
      if (operation === 'create') return 'late';
      return operation === 'attach' && ++entries <= 1 ? 'fail' : undefined;
    };
    // Both fail on their way in, at once: each takes the other for one that stays.
    const failing = [spawning(w, 'ann'), spawning(w, 'bob')];
    await w.clock.advance(0);
    w.provider.decide = (operation) => (operation === 'attach' && ++entries <= 1 ? 'fail' : undefined);
    w.provider.release();
    await w.clock.advance(0);
    for (const { spawn } of failing) await expect(spawn).rejects.toThrow();
    expect(await w.store.pool.usage()).toEqual({ vms: 1, users: 0 });
    // Now the VM ends, and takes its time.
    w.provider.decide = (operation) => (operation === 'destroy' ? 'late' : undefined);
    await w.clock.advance(1000);
    const cid = spawning(w, 'cid');
    await w.clock.advance(5000);
    expect([cid.id, await depth(w, owned('cid'))]).toEqual([undefined, 1]);
    w.provider.decide = () => undefined;
    w.provider.release();
    await w.clock.advance(0);
    expect(cid.id).toBeDefined();
    expect(await w.store.pool.usage()).toEqual({ vms: 1, users: 1 });
  });
});
