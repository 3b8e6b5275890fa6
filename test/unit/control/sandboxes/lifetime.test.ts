// What becomes of sandboxes over time: deadlines, extensions, pruning, forgetting, and who sees them in lists.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AGENT_GRACE_MS } from '../../../../src/domain/ttl.ts';
import { sandboxRecord, stamp } from '../../../support/records.ts';
import { admin, api, forever, owned, roomy, type World, world } from '../../../support/servers/control.ts';

const spawn = async (w: World, request = {}, caller = api) =>
  (await w.control.sandboxes.spawn(request, caller, {}, forever)).id;
const states = async (w: World) =>
  (await w.store.sandboxes.list({ include_ended: true, limit: 5000 })).map(
    ({ state, end_reason }) => `${state} ${end_reason ?? ''}`,
  );

describe('the reaper', () => {
  it('ends a sandbox at its deadline, not before', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w, { ttl: '90s' });
    await w.clock.advance(89_999);
    expect(w.fake.runtimes.size).toBe(1);
    await w.clock.advance(1);
    await w.clock.advance(0);
    expect(w.fake.runtimes.size).toBe(0);
    await expect(w.control.sandboxes.get(id, api)).rejects.toMatchObject({
      details: { end_reason: 'expired' },
    });
  });

  it('holds one timer for any number of deadlines', async () => {
    const w = world();
    await w.control.start();
    await spawn(w, { ttl: '1h' });
    const before = w.clock.pending();
    for (let i = 1; i <= 20; i++) await spawn(w, { ttl: `${i}m` });
    await w.clock.advance(0);
    expect(w.clock.pending()).toBe(before);
  });

  it('keeps an earlier deadline that is set later', async () => {
    const w = world();
    await w.control.start();
    await spawn(w, { ttl: '1h' });
    await spawn(w, { ttl: '10s' });
    await w.clock.advance(10_000);
    await w.clock.advance(0);
    expect(w.fake.runtimes.size).toBe(1);
  });

  it('misses no deadline that is set during a scan', async () => {
    for (let step = 0; step < 40; step++) {
      const w = world();
      await w.control.start();
      await w.clock.advance(0);
      const first = spawn(w, { ttl: '1h' });
      for (let i = 0; i < step; i++) await undefined;
      const second = await spawn(w, { ttl: '10s' });
      await first;
      await w.clock.advance(10_000);
      await w.clock.advance(0);
      expect(await w.store.sandboxes.get(second), `${step} steps`).toMatchObject({ state: 'destroyed' });
    }
  });

  it('ends 1,000 due sandboxes, each once', async () => {
    const w = world();
    await w.control.start();
    for (let i = 0; i < 1000; i++) await spawn(w, { ttl: '60s' });
    await w.clock.advance(61_000);
    await w.clock.advance(0);
    expect(w.fake.runtimes.size).toBe(0);
    expect(await states(w)).toEqual(Array(1000).fill('destroyed expired'));
    expect((await w.events()).filter(({ type }) => type === 'sandbox.destroyed')).toHaveLength(1000);
  });

  it('ends all others when a provider hangs at one', async () => {
    const w = world();
    await w.control.start();
    for (let i = 0; i < 8; i++) await spawn(w, { ttl: '10s' });
    const late = await spawn(w, { ttl: '20s' });
    w.provider.decide = (operation, call) => (operation === 'destroy' && call <= 8 ? 'hang' : undefined);
    await w.clock.advance(20_000);
    await w.clock.advance(0);
    expect(await w.store.sandboxes.get(late)).toMatchObject({ state: 'destroyed', end_reason: 'expired' });
    await w.clock.advance(70_000);
    expect(w.fake.runtimes.size).toBe(0);
  });

  it('ends sandboxes that expired while the server was down', async () => {
    const w = world();
    await spawn(w, { ttl: '10s' });
    await w.clock.advance(3_600_000);
    await w.restart();
    await w.clock.advance(0);
    expect(await states(w)).toEqual(['destroyed expired']);
  });

  it('ends a sandbox that is still being created', async () => {
    const w = world();
    await w.control.start();
    w.provider.decide = (operation) => (operation === 'create' ? 'hang' : undefined);
    const spawned = spawn(w, { ttl: '5s' }).catch((error: unknown) => error);
    await w.clock.advance(0);
    await w.clock.advance(7000);
    expect(await spawned).toMatchObject({ code: 'conflict' });
    expect(await states(w)).toEqual(['destroyed expired']);
  });

  it('continues after a failure of the store', async () => {
    const w = world();
    const { due } = w.store.sandboxes;
    let failures = 3;
    w.store.sandboxes.due = (...asked) =>
      failures-- > 0 ? Promise.reject(new Error('busy')) : due(...asked);
    await w.restart();
    await spawn(w, { ttl: '10s' });
    await w.clock.advance(20_000);
    expect(await states(w)).toEqual(['destroyed expired']);
  });

  it('stops with the service', async () => {
    const w = world();
    await w.control.start();
    await spawn(w, { ttl: '10s' });
    await w.control.stop();
    await w.clock.advance(3_600_000);
    expect(w.fake.runtimes.size).toBe(1);
    expect(w.clock.pending()).toBe(0);
  });
});

describe('housekeeping', () => {
  it('forgets ended sandboxes, keys and events after their retention', async () => {
    const w = world({ database: { ended_retention: '1h', event_retention: 100 } });
    await w.control.start();
    const first = await w.control.sandboxes.spawn({}, api, { idempotencyKey: 'k' }, forever);
    await w.control.sandboxes.destroy(first.id, api);
    for (let i = 0; i < 60; i++) await w.control.sandboxes.destroy(await spawn(w), api);
    await w.clock.advance(61_000);
    expect(await w.events()).toHaveLength(100);
    expect(await states(w)).toHaveLength(61);
    await w.clock.advance(3_600_000);
    expect(await states(w)).toHaveLength(0);
    expect((await w.control.sandboxes.spawn({}, api, { idempotencyKey: 'k' }, forever)).id).toBe(first.id);
    await w.clock.advance(24 * 3_600_000);
    expect((await w.control.sandboxes.spawn({}, api, { idempotencyKey: 'k' }, forever)).id).not.toBe(
      first.id,
    );
  });
});

describe('the deadline that the agent keeps', () => {
  const told = (w: World, id: string, uid = 0) => w.fake.of(id).deadlines?.get(uid);

  it('is set at the start, a little after the end of the row', async () => {
    const w = world();
    const now = w.clock.monotonic();
    const id = await spawn(w, { ttl: '90s' });
    expect(w.fake.of(id).deadline).toBe(now + 90_000);
  });

  it('moves with every extension, and not without one', async () => {
    const w = world();
    const id = await spawn(w, { ttl: '60s' });
    await w.control.sandboxes.extend(id, { ttl: '10s' }, api);
    expect(told(w, id)).toBeUndefined();
    await w.control.sandboxes.extend(id, { ttl: '10m' }, api);
    expect(told(w, id)).toBe(600_000 + AGENT_GRACE_MS);
    await w.control.sandboxes.extend(id, { ttl: '30s', exact: true }, api);
    expect(told(w, id)).toBe(30_000 + AGENT_GRACE_MS);
  });

  it('is separate for each tenant of a pool', async () => {
    const w = world({ pool: { enabled: true } });
    const row = await w.control.sandboxes.spawn({ ttl: '60s' }, owned('ann'), {}, forever);
    const { uid = 0, vm_id = '' } = (await w.store.sandboxes.get(row.id)) ?? {};
    expect(w.fake.of(vm_id).deadline).toBeUndefined();
    expect(told(w, vm_id, uid)).toBe(60_000 + AGENT_GRACE_MS);
    await w.control.sandboxes.extend(row.id, { ttl: '10m' }, owned('ann'));
    expect(told(w, vm_id, uid)).toBe(600_000 + AGENT_GRACE_MS);
    expect(told(w, vm_id)).toBeUndefined();
  });

  it.each([
    ['later', { ttl: '1h' }],
    ['earlier', { ttl: '5s', exact: true }],
  ])('answers unavailable and does not move %s without confirmation', async (_, request) => {
    const w = world();
    const id = await spawn(w, { ttl: '10m' });
    w.fake.of(id).answers = false;
    await expect(w.control.sandboxes.extend(id, request, api)).rejects.toMatchObject({
      code: 'unavailable',
      status: 503,
    });
    expect(await w.store.sandboxes.get(id)).toMatchObject({ expires_at: stamp(600), state: 'running' });
  });

  it('is skipped where the agent keeps none: only the row moves', async () => {
    const w = world();
    const { attach } = w.provider;
    w.provider.attach = async (...asked) => {
      const { setDeadline: _, ...io } = await attach(...asked);
      return io;
    };
    const id = await spawn(w, { ttl: '60s' });
    expect((await w.control.sandboxes.extend(id, { ttl: '10m' }, api)).expires_at).toBe(stamp(600));
  });

  it('records a runtime that is missing after its deadline as expired at the deadline', async () => {
    const w = world();
    const id = await spawn(w, { ttl: '10s' });
    await w.clock.advance(10_250);
    w.fake.crash(id);
    await w.clock.advance(3_600_000);
    await w.restart();
    await w.clock.advance(5000);
    expect(await w.store.sandboxes.get(id)).toMatchObject({
      state: 'destroyed',
      end_reason: 'expired',
      ended_at: stamp(10),
    });
    expect((await w.events()).map(({ type }) => type)).not.toContain('sandbox.error');
  });

  it('records a runtime that is missing before its deadline as lost', async () => {
    const w = world();
    const id = await spawn(w, { ttl: '10m' });
    w.fake.crash(id);
    await w.restart();
    await w.clock.advance(5000);
    expect(await states(w)).toEqual(['destroyed runtime_lost']);
  });

  it('ends a runtime that is found alive long after its deadline', async () => {
    const w = world();
    const id = await spawn(w, { ttl: '10s' });
    await w.clock.advance(3_600_000);
    await w.restart();
    await w.clock.advance(0);
    expect(await w.store.sandboxes.get(id)).toMatchObject({ end_reason: 'expired', ended_at: stamp(3600) });
  });
});

describe('shortening', () => {
  it('takes effect within a second', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w, { ttl: '1h' });
    const { expires_at } = await w.control.sandboxes.extend(id, { ttl: '2s', exact: true }, api);
    expect(expires_at).toBe(stamp(2));
    await w.clock.advance(0);
    await w.clock.advance(1999);
    expect(w.fake.runtimes.size).toBe(1);
    await w.clock.advance(1);
    await w.clock.advance(0);
    expect(await states(w)).toEqual(['destroyed expired']);
  });

  it('beside an extension: the later call wins, in the row and in the agent', async () => {
    for (let lead = -20; lead <= 20; lead++) {
      const w = world();
      const id = await spawn(w, { ttl: '10m' });
      const calls = [
        () => w.control.sandboxes.extend(id, { ttl: '1h' }, api),
        () => w.control.sandboxes.extend(id, { ttl: '1m', exact: true }, api),
      ];
      const [first, second] = lead < 0 ? calls : calls.toReversed();
      const running = first?.();
      for (let step = 0; step < Math.abs(lead); step++) await undefined;
      await Promise.all([running, second?.()]);
      const row = await w.store.sandboxes.get(id);
      const left = Date.parse(row?.expires_at ?? '') - w.clock.now();
      expect(w.fake.of(id).deadlines?.get(0), `${lead}`).toBe(left + AGENT_GRACE_MS);
    }
  });
});

describe('extend', () => {
  it('moves the deadline later, never earlier', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w, { ttl: '60s' });
    expect((await w.control.sandboxes.extend(id, { ttl: '10m' }, api)).expires_at).toBe(stamp(600));
    expect((await w.control.sandboxes.extend(id, { ttl: '1m' }, api)).expires_at).toBe(stamp(600));
    await w.clock.advance(599_000);
    expect(w.fake.runtimes.size).toBe(1);
    await w.clock.advance(1000);
    await w.clock.advance(0);
    expect(w.fake.runtimes.size).toBe(0);
  });

  it.each([
    ['25h', 'resource_limit'],
    ['0s', 'bad_request'],
    ['soon', 'bad_request'],
  ])('%s is %s', async (ttl, code) => {
    const w = world();
    const id = await spawn(w);
    await expect(w.control.sandboxes.extend(id, { ttl }, api)).rejects.toMatchObject({ code });
  });

  it('answers not_found for ended, unknown and foreign sandboxes, and conflict while destroying', async () => {
    const w = world({ auth: { enforce_owner: true } });
    const id = await spawn(w, {}, owned('ann'));
    const extend = (caller: typeof api, which = id) =>
      w.control.sandboxes.extend(which, { ttl: '1h' }, caller);
    await expect(extend(owned('bob'))).rejects.toMatchObject({ code: 'not_found', details: undefined });
    await expect(extend(admin, 'sb-nobody')).rejects.toMatchObject({ code: 'not_found' });
    w.provider.decide = () => 'fail';
    await w.control.sandboxes.destroy(id, admin).catch(() => undefined);
    await expect(extend(owned('ann'))).rejects.toMatchObject({ code: 'conflict' });
    await w.clock.advance(2000);
    w.provider.decide = () => undefined;
    await w.clock.advance(10_000);
    await expect(extend(owned('ann'))).rejects.toMatchObject({
      code: 'not_found',
      details: { end_reason: 'destroyed' },
    });
  });

  it('holds against the mark of an expired sandbox by another server', async () => {
    const w = world();
    const id = await spawn(w, { ttl: '10s' });
    await w.clock.advance(10_000);
    const { transition, extend } = w.store.sandboxes;
    w.store.sandboxes.transition = async (change) => {
      w.store.sandboxes.transition = transition;
      // Between the look of the reaper and its mark.
      const was = change.expires_at ?? '';
      expect(await extend(id, ['running'], { was, expires_at: stamp(600) })).toBeDefined();
      return transition(change);
    };
    expect(await w.control.sandboxes.prune(api)).toBe(0);
    expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'running', expires_at: stamp(600) });
  });

  it('is not shortened by one that read the end before', async () => {
    const w = world();
    const id = await spawn(w, { ttl: '10s' });
    const { extend } = w.store.sandboxes;
    w.store.sandboxes.extend = async (row, from, deadline) => {
      w.store.sandboxes.extend = extend;
      await extend(row, from, { was: deadline.was, expires_at: stamp(3600) });
      return extend(row, from, deadline);
    };
    expect(await w.control.sandboxes.extend(id, { ttl: '1m' }, api)).toMatchObject({
      expires_at: stamp(3600),
    });
  });

  it('beside the deadline, at every step: the answer holds', async () => {
    let both = 0;
    for (let lead = -30; lead <= 30; lead++) {
      const w = world();
      const id = await spawn(w, { ttl: '10s' });
      await w.clock.advance(10_000);
      const prune = () => w.control.sandboxes.prune(api);
      const extend = () => w.control.sandboxes.extend(id, { ttl: '1h' }, api).catch(() => undefined);
      const [first, second] = lead < 0 ? [extend, prune] : [prune, extend];
      const begun = first();
      for (let i = 0; i < Math.abs(lead); i++) await undefined;
      // The marking lets others have a turn before it writes.
      if (lead === 30) await setImmediate();
      const answers = await Promise.all([begun, second()]);
      const extended = answers.find((answer) => typeof answer === 'object');
      expect(w.fake.runtimes.size).toBe(extended ? 1 : 0);
      both |= extended ? 1 : 2;
    }
    expect(both).toBe(3);
  });
});

describe('prune', () => {
  it('ends expired sandboxes, only the caller’s under enforcement, and returns their number', async () => {
    const w = world({ auth: { enforce_owner: true } });
    for (const owner of ['ann', 'ann', 'bob']) await spawn(w, { ttl: '10s' }, owned(owner));
    await spawn(w, { ttl: '1h' }, owned('ann'));
    await w.clock.advance(10_000);
    expect(await w.control.sandboxes.prune(owned('ann'))).toBe(2);
    expect(await w.control.sandboxes.prune(owned('ann'))).toBe(0);
    expect(w.fake.runtimes.size).toBe(2);
    expect(await w.control.sandboxes.prune(admin)).toBe(1);
    expect((await states(w)).filter((state) => state === 'destroyed pruned')).toHaveLength(3);
  });

  it('does not count unconfirmed ends, and finishes', async () => {
    const w = world();
    for (let i = 0; i < 250; i++) await spawn(w, { ttl: '10s' });
    await w.clock.advance(10_000);
    w.provider.decide = (operation, call) => (operation === 'destroy' && call % 2 === 0 ? 'fail' : undefined);
    expect(await w.control.sandboxes.prune(api)).toBe(125);
  });
});

describe('lists', () => {
  it('return everything once in pages, newest first', async () => {
    const w = world();
    for (let i = 0; i < 25; i++) {
      await spawn(w);
      if (i % 3 === 0) await w.clock.advance(1000);
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await w.control.sandboxes.list({ limit: 10, ...(cursor && { cursor }) }, api);
      seen.push(...page.sandboxes.map(({ id }) => id));
      cursor = page.next_cursor;
    } while (cursor);
    expect(seen).toEqual((await w.control.sandboxes.list({}, api)).sandboxes.map(({ id }) => id));
    expect(new Set(seen).size).toBe(25);
  });

  it('have no next page when the last one is exactly full', async () => {
    const w = world();
    await spawn(w);
    expect(await w.control.sandboxes.list({ limit: 1 }, api)).not.toHaveProperty('next_cursor');
  });

  it('apply filters', async () => {
    const w = world();
    const a = await spawn(w, { metadata: { team: 'x', __proto__: null } }, owned('ann'));
    const b = await spawn(w, { metadata: { team: 'y' } }, owned('bob'));
    await w.control.sandboxes.destroy(b, api);
    const ids = async (query: object) =>
      (await w.control.sandboxes.list(query, api)).sandboxes.map(({ id }) => id);
    expect(await ids({})).toEqual([a]);
    expect(await ids({ include_ended: true })).toEqual([b, a]);
    expect(await ids({ state: 'destroyed' })).toEqual([b]);
    expect(await ids({ owner_id: 'ann' })).toEqual([a]);
    expect(await ids({ 'metadata.team': 'x' })).toEqual([a]);
    expect(await ids({ 'metadata.team': 'y' })).toEqual([]);
    expect(await ids({ 'metadata.__proto__': 'x' })).toEqual([]);
    expect(await ids({ provider: 'nope' })).toEqual([]);
    await expect(ids({ colour: 'red' })).rejects.toMatchObject({ code: 'bad_request' });
    await expect(ids({ cursor: 'x' })).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('show an owner only its own sandboxes when owners are enforced', async () => {
    const w = world({ auth: { enforce_owner: true } });
    const [a, b] = [await spawn(w, {}, owned('ann')), await spawn(w, {}, owned('bob'))];
    const ids = async (caller: typeof api, query = {}) =>
      (await w.control.sandboxes.list(query, caller)).sandboxes.map(({ id }) => id);
    expect(await ids(owned('ann'))).toEqual([a]);
    expect(await ids(owned('ann'), { owner_id: 'bob' })).toEqual([]);
    expect(await ids(admin)).toEqual(expect.arrayContaining([a, b]));
    await expect(ids(api)).rejects.toMatchObject({ code: 'bad_request' });
    await expect(w.control.sandboxes.get(b, owned('ann'))).rejects.toMatchObject({
      code: 'not_found',
      details: undefined,
    });
    await expect(w.control.exec.run(b, { command: 'x' }, owned('ann'), forever, roomy)).rejects.toMatchObject(
      {
        code: 'not_found',
      },
    );
  });
});

describe('a start', () => {
  it('never fails because of rows or providers, and stops waiting after 5 s', async () => {
    const w = world();
    await w.store.sandboxes.reserve({
      sandbox: sandboxRecord({ state: 'running', provider: 'formerly' }),
      limits: { max_sandboxes: 0 },
      events: [],
    });
    w.provider.decide = () => 'hang';
    const restarted = w.restart();
    // It reads the time before it lists.
    await w.clock.advance(0);
    await w.clock.advance(5000);
    await restarted;
    expect(w.control.health.live(true)).toMatchObject({ status: 'alive' });
  });
});
