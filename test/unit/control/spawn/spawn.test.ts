// Spawning: defaults and refusals, caps, providers that fail in every way, Idempotency-Key.
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { NotStarted } from '../../../../src/domain/not-started.ts';
import type { SpawnRequest } from '../../../../src/schema/sandbox.ts';
import { admin, api, forever, owned, world } from '../../../support/servers/control.ts';
import { until } from '../../../support/until.ts';

const at = (world: { clock: { now(): number } }, ms: number) =>
  new Date(world.clock.now() + ms).toISOString();
const types = (events: { type: string }[]) => events.map(({ type }) => type);

describe('a spawn', () => {
  it('applies its defaults, returns the sandbox, and publishes both steps', async () => {
    const w = world();
    const sandbox = await w.control.sandboxes.spawn({}, api, {}, forever);
    expect(sandbox).toEqual({
      ...{ id: sandbox.id, state: 'running', provider: 'userspace', image: 'host', memory_mb: 512, vcpus: 1 },
      ...{ created_at: at(w, 0), expires_at: at(w, 1_800_000), metadata: {}, worker_id: 'local' },
      created_by: 'api:X-API-Key',
    });
    expect(await w.control.sandboxes.get(sandbox.id, api)).toEqual(sandbox);
    expect(types(await w.events())).toEqual(['sandbox.created', 'sandbox.running']);
    expect(await w.events()).toMatchObject([
      {
        sandbox_id: sandbox.id,
        data: { provider: 'userspace', worker_id: 'local', expires_at: sandbox.expires_at },
      },
      { sandbox_id: sandbox.id, data: { image: 'host' } },
    ]);
    await w.clock.advance(0);
    expect(w.told).toEqual((await w.events()).map(({ id: _, ...draft }) => draft));
  });

  it('plans once and reads the limits of its owner once', async () => {
    const w = world();
    const calls = { plans: 0, limits: 0 };
    const { describe: describeProvider } = w.fake;
    w.provider.describe = () => {
      calls.plans += 1;
      return describeProvider();
    };
    const { get } = w.store.quotas;
    w.store.quotas.get = (owner_id) => {
      calls.limits += 1;
      return get(owner_id);
    };
    await w.control.sandboxes.spawn({}, owned('ann'), {}, forever);
    expect(calls).toEqual({ plans: 1, limits: 1 });
  });

  it('shows runtime_id to admins alone', async () => {
    const w = world();
    expect(await w.control.sandboxes.spawn({}, admin, {}, forever)).toHaveProperty('runtime_id', 'rt-1');
    const { id } = await w.control.sandboxes.spawn({}, api, {}, forever);
    expect(await w.control.sandboxes.get(id, api)).not.toHaveProperty('runtime_id');
    expect((await w.control.sandboxes.list({}, api)).sandboxes.some((one) => 'runtime_id' in one)).toBe(
      false,
    );
  });

  it('names every difference between the request and the sandbox', async () => {
    const w = world();
    const create = w.fake.create;
    w.provider.create = async (spec, signal) => ({
      ...(await create(spec, signal)),
      memory_mb: 64,
      warnings: ['memory_mb: cut.'],
    });
    const sandbox = await w.control.sandboxes.spawn({ vcpus: 8, memory_mb: 128 }, api, {}, forever);
    expect(sandbox).toMatchObject({
      vcpus: 4,
      memory_mb: 64,
      warnings: [expect.stringMatching(/^vcpus: 8.*4/), 'memory_mb: cut.'],
    });
    expect(await w.control.sandboxes.get(sandbox.id, api)).toEqual(sandbox);
  });

  it.each<[string, SpawnRequest, object]>([
    [
      'an unknown provider',
      { provider: 'nope' },
      { code: 'not_found', details: { providers: ['userspace'] } },
    ],
    ['`auto` as a name', { provider: 'auto' }, { code: 'not_found' }],
    ['an invalid image', { image: 'a b' }, { code: 'bad_request' }],
    ['an invalid ttl', { ttl: '1.5h' }, { code: 'bad_request' }],
    ['a ttl of zero', { ttl: '0s' }, { code: 'bad_request' }],
    ['a ttl over the maximum', { ttl: '24h1s' }, { code: 'resource_limit', status: 429 }],
    ['an invalid owner', { owner_id: 'a/b' }, { code: 'bad_request' }],
    ['NUL in env', { env: { A: '\0' } }, { code: 'bad_request' }],
  ])('refuses %s and leaves nothing behind', async (_name, request, error) => {
    const w = world();
    await expect(w.control.sandboxes.spawn(request, api, {}, forever)).rejects.toMatchObject(error);
    expect((await w.control.sandboxes.list({ include_ended: true }, api)).sandboxes).toEqual([]);
    expect(w.fake.made).toEqual([]);
    expect(types(await w.events())).toEqual('status' in error ? ['resource.limit'] : []);
  });

  it('records the provider and the owner of a refusal', async () => {
    const w = world();
    await expect(
      w.control.sandboxes.spawn({ ttl: '25h' }, owned('alice'), {}, forever),
    ).rejects.toMatchObject({ code: 'resource_limit' });
    expect(await w.events()).toMatchObject([
      {
        type: 'resource.limit',
        owner_id: 'alice',
        data: { provider: 'userspace', operation: 'sandbox.spawn' },
      },
    ]);
  });

  it('X-User-ID wins over owner_id', async () => {
    const w = world();
    const spawn = (caller: typeof api) =>
      w.control.sandboxes.spawn({ owner_id: ' body ' }, caller, {}, forever);
    expect(await spawn(owned('header'))).toHaveProperty('owner_id', 'header');
    expect(await spawn(api)).toHaveProperty('owner_id', 'body');
  });

  it('does not start for a client that has left', async () => {
    const w = world();
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(w.control.sandboxes.spawn({}, api, {}, gone)).rejects.toThrow('gone');
    expect(w.fake.made).toEqual([]);
  });

  it('ends when its client leaves during the creation, but finishes with a key', async () => {
    const w = world();
    w.provider.decide = (operation) => (operation === 'create' ? 'late' : undefined);
    const client = new AbortController();
    const [unheard, keyed] = [{}, { idempotencyKey: 'k' }].map((named) =>
      w.control.sandboxes.spawn({}, api, named, client.signal).catch((error: unknown) => error),
    );
    await w.clock.advance(0);
    client.abort(new Error('gone'));
    w.provider.release();
    await Promise.all([unheard, keyed]);
    await w.clock.advance(5000);
    const again = await w.control.sandboxes.spawn({}, api, { idempotencyKey: 'k' }, forever);
    expect(again).toMatchObject({ state: 'running' });
    expect([...w.fake.runtimes.values()].map(({ id }) => id)).toEqual([again.id]);
  });

  it('ends when its client leaves before the answer is sent', async () => {
    const w = world();
    const client = new AbortController();
    const { id } = await w.control.sandboxes.spawn({}, api, {}, client.signal);
    client.abort(new Error('gone'));
    await w.clock.advance(1000);
    expect(w.fake.runtimes.size).toBe(0);
    await expect(w.control.sandboxes.get(id, api)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('caps', () => {
  it('admit exactly 7 of 200 at once under a cap of 7, and each end frees a slot', async () => {
    const w = world({ defaults: { max_sandboxes: 7 } });
    const all = await Promise.allSettled(
      Array.from({ length: 200 }, () => w.control.sandboxes.spawn({}, api, {}, forever)),
    );
    const made = all.filter((one) => one.status === 'fulfilled').map(({ value }) => value.id);
    expect(made).toHaveLength(7);
    const refused = all.find((one) => one.status === 'rejected');
    expect(refused?.reason).toMatchObject({
      ...{ code: 'resource_limit', status: 429 },
      details: { reason: 'max_sandboxes', active_sandboxes: 7, max_sandboxes: 7 },
    });
    expect(types(await w.events()).filter((type) => type === 'resource.limit')).toHaveLength(193);
    await w.control.sandboxes.destroy(made[0] ?? '', api);
    await w.control.sandboxes.spawn({}, api, {}, forever);
    await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toMatchObject({
      code: 'resource_limit',
    });
  });

  it('apply to each provider separately', async () => {
    const w = world();
    w.config.current().providers.userspace.max_sandboxes = 1;
    await w.restart();
    await w.control.sandboxes.spawn({}, api, {}, forever);
    await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toMatchObject({
      details: { reason: 'worker_capacity' },
    });
  });

  it('free the slot of a failed spawn', async () => {
    const w = world({ defaults: { max_sandboxes: 1 } });
    w.provider.decide = (operation, call) => (operation === 'create' && call < 4 ? 'fail' : undefined);
    for (let i = 0; i < 3; i++)
      await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toMatchObject({
        code: 'provider_error',
      });
    await w.control.sandboxes.spawn({}, api, {}, forever);
  });
});

describe('a provider that fails to create', () => {
  it.each(['fail', 'lost'] as const)(
    '%s: nothing is left, the row ends as error with the reason',
    async (fault) => {
      const w = world();
      w.provider.decide = (operation) => (operation === 'create' ? fault : undefined);
      await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toMatchObject({
        code: 'provider_error',
      });
      expect(w.fake.made).toHaveLength(fault === 'lost' ? 1 : 0);
      expect(w.fake.runtimes.size).toBe(0);
      const [row] = (await w.control.sandboxes.list({ include_ended: true }, api)).sandboxes;
      expect(row).toMatchObject({ state: 'error', end_reason: 'spawn_failed', ended_at: at(w, 0) });
      expect(types(await w.events())).toEqual(['sandbox.created', 'provider.failed', 'sandbox.error']);
      const text = JSON.stringify(await w.events());
      expect(text).not.toContain('secret');
    },
  );

  it('hang: the spawn fails after a minute, and a late runtime is removed', async () => {
    const w = world();
    w.provider.decide = (operation) => (operation === 'create' ? 'late' : undefined);
    const spawned = w.control.sandboxes.spawn({}, api, {}, forever).catch((error: unknown) => error);
    await w.clock.advance(0);
    await w.clock.advance(61_000);
    expect(await spawned).toMatchObject({ code: 'unavailable' });
    w.provider.release();
    await w.clock.advance(0);
    expect(w.fake.made).toHaveLength(1);
    expect(w.fake.runtimes.size).toBe(0);
  });

  it('and to destroy: the row stays destroying until the end is confirmed', async () => {
    const w = world();
    w.provider.decide = (operation, call) =>
      operation === 'create' ? 'lost' : call < 3 ? 'fail' : undefined;
    await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toMatchObject({
      code: 'provider_error',
    });
    const [row] = (await w.control.sandboxes.list({}, api)).sandboxes;
    expect(row).toMatchObject({ state: 'destroying' });
    await w.clock.advance(4000);
    expect(w.fake.runtimes.size).toBe(0);
    await expect(w.control.sandboxes.get(row?.id ?? '', api)).rejects.toMatchObject({
      ...{ code: 'not_found', details: { end_reason: 'spawn_failed' } },
    });
  });

  it('or whose store fails after the create: no runtime is left behind', async () => {
    const w = world();
    const transition = w.store.sandboxes.transition;
    let failures = 2;
    w.store.sandboxes.transition = (change) =>
      failures-- > 0 ? Promise.reject(new Error('disk on fire')) : transition(change);
    await w.control.start();
    await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toThrow();
    expect(w.fake.runtimes.size).toBe(0);
    await w.clock.advance(31_000);
    const [row] = (await w.control.sandboxes.list({ include_ended: true }, api)).sandboxes;
    expect(row).toMatchObject({ state: 'error', end_reason: 'spawn_failed' });
  });
});

it('a spawn whose sandbox another replica destroys ends as a conflict, and leaves the row to that replica', async () => {
  const w = world();
  const { transition } = w.store.sandboxes;
  w.provider.decide = (operation) => (operation === 'create' ? 'fail' : undefined);
  const { create } = w.provider;
  w.provider.create = async (spec, signal) => {
    const patch = { state: 'destroying', end_reason: 'destroyed', ended_by: 'api:X-API-Key' } as const;
    const { id, epoch } = spec;
    await transition({ id, from: ['creating'], epoch, patch, replica_id: 'r-other', events: [] });
    return create(spec, signal);
  };
  await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toMatchObject({ code: 'conflict' });
  const [row] = await w.store.sandboxes.inStates(['destroying'], 10);
  expect(row).toMatchObject({ replica_id: 'r-other', end_reason: 'destroyed' });
  expect(types(await w.events())).toEqual(['sandbox.created']);
});

it('a spawn that another replica gave up, because this one was silent, is to be repeated', async () => {
  const w = world();
  const { transition } = w.store.sandboxes;
  const { create } = w.provider;
  w.provider.create = async (spec, signal) => {
    const patch = { state: 'destroying', end_reason: 'reconciled', ended_by: 'system:reconciled' } as const;
    const { id, epoch } = spec;
    await transition({ id, from: ['creating'], epoch, patch, replica_id: 'r-other', events: [] });
    return create(spec, signal);
  };
  await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toMatchObject({
    code: 'unavailable',
  });
  await until('its runtime has ended', () => w.fake.runtimes.size === 0);
});

describe('Idempotency-Key', () => {
  const spawn = (
    w: ReturnType<typeof world>,
    key: string,
    request: SpawnRequest = {},
    caller = api,
    signal = forever,
  ) => w.control.sandboxes.spawn(request, caller, { idempotencyKey: key }, signal);

  it('repeats the stored answer, also after a restart and after the sandbox ended', async () => {
    const w = world();
    const first = await spawn(w, 'k', { metadata: { a: '1', b: '2' } }, admin);
    const again = { metadata: { b: '2', a: '1' } };
    expect(await spawn(w, 'k', again, admin)).toEqual(first);
    await w.restart();
    await w.control.sandboxes.destroy(first.id, admin);
    expect(await spawn(w, 'k', again, admin)).toEqual(first);
    expect(w.fake.made).toHaveLength(1);
  });

  it('shows a stored answer by the rights of the caller', async () => {
    const w = world();
    await spawn(w, 'k', {}, { ...admin, owner: 'ann' });
    expect(await spawn(w, 'k', {}, owned('ann'))).not.toHaveProperty('runtime_id');
  });

  it('creates one sandbox for 100 at once, whichever of them leaves', async () => {
    const w = world();
    w.provider.decide = (operation) => (operation === 'create' ? 'late' : undefined);
    const leavers = Array.from({ length: 100 }, () => new AbortController());
    const all = leavers.map(({ signal }) => spawn(w, 'k', {}, api, signal).catch((error: unknown) => error));
    await w.clock.advance(0);
    for (const leaver of leavers.slice(0, 50)) leaver.abort(new Error('gone'));
    w.provider.release();
    const ids = (await Promise.all(all)).map((one) => (one as { id?: string }).id);
    expect(new Set(ids.slice(50)).size).toBe(1);
    expect(ids.slice(1, 50).every((id) => id === undefined)).toBe(true);
    expect(w.fake.made).toHaveLength(1);
  });

  it('refuses another body as a conflict, during the spawn and afterwards', async () => {
    const w = world();
    const first = spawn(w, 'k');
    await expect(spawn(w, 'k', { vcpus: 2 })).rejects.toMatchObject({ code: 'conflict' });
    await first;
    await expect(spawn(w, 'k', { vcpus: 2 })).rejects.toMatchObject({ code: 'conflict' });
  });

  it('belongs to an owner, else to a credential', async () => {
    const w = world();
    const callers = [
      api,
      { ...api, credential: 'c2' },
      owned('ann'),
      owned('bob'),
      { ...owned('ann'), credential: 'c2' },
    ];
    const ids = [];
    for (const caller of callers) ids.push((await spawn(w, 'k', {}, caller)).id);
    expect(new Set(ids).size).toBe(4);
    expect(ids[2]).toBe(ids[4]);
  });

  it('is free again after a spawn that failed', async () => {
    const w = world();
    w.provider.decide = (operation, call) => (operation === 'create' && call === 1 ? 'fail' : undefined);
    await expect(spawn(w, 'k')).rejects.toMatchObject({ code: 'provider_error' });
    await expect(spawn(w, 'k')).resolves.toMatchObject({ state: 'running' });
  });

  it('is free again after a crash during the creation and the next start', async () => {
    const w = world();
    w.provider.decide = (operation) => (operation === 'create' ? 'hang' : undefined);
    void spawn(w, 'k').catch(() => undefined);
    await w.clock.advance(0);
    w.provider.decide = () => undefined;
    await w.restart();
    await expect(spawn(w, 'k')).resolves.toMatchObject({ state: 'running' });
    expect(w.fake.runtimes.size).toBe(1);
  });

  it('answers unavailable with a retry time until a crash is settled', async () => {
    const w = world();
    w.provider.decide = (operation) => (operation === 'create' || operation === 'list' ? 'hang' : undefined);
    void spawn(w, 'k').catch(() => undefined);
    await w.clock.advance(0);
    const restarted = w.restart();
    // It reads the time before it lists.
    await w.clock.advance(0);
    await w.clock.advance(6000);
    await restarted;
    await expect(spawn(w, 'k')).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
  });

  it.each(['', 'a b', 'é', 'x'.repeat(256), '\n'])('refuses the key %j', async (key) => {
    await expect(spawn(world(), key)).rejects.toMatchObject({ code: 'bad_request' });
  });
});

describe('a provider that is unreachable', () => {
  const AWAY = new NotStarted(new ServiceError('unavailable', 'It is away.', { remedy: 'Start it.' }));
  const away = (config: Parameters<typeof world>[0]) => {
    const w = world(config);
    const { create } = w.provider;
    w.provider.create = async () => {
      throw AWAY;
    };
    w.provider.decide = (operation) => (operation === 'create' ? undefined : 'fail');
    const back = () => {
      w.provider.create = create;
      w.provider.decide = () => undefined;
    };
    return { w, back };
  };

  it('holds no slots for spawns that it never started', async () => {
    const { w, back } = away({ defaults: { max_sandboxes: 2 } });
    for (let n = 0; n < 3; n++)
      await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toMatchObject({ status: 503 });
    const { sandboxes } = await w.control.sandboxes.list({ include_ended: true }, api);
    expect(sandboxes.map(({ state, end_reason }) => [state, end_reason])).toEqual(
      Array(3).fill(['error', 'spawn_failed']),
    );
    expect(w.provider.calls.destroy).toBe(0);
    back();
    expect(await w.control.sandboxes.spawn({}, api, {}, forever)).toMatchObject({ state: 'running' });
  });

  it('holds no VMs of a pool either', async () => {
    const { w, back } = away({ pool: { enabled: true, image: 'host', max_vms: 1, max_users_per_vm: 1 } });
    for (let n = 0; n < 2; n++)
      await expect(w.control.sandboxes.spawn({}, owned('ann'), {}, forever)).rejects.toMatchObject({
        message: 'It is away.',
      });
    expect(await w.control.pool.status()).toMatchObject({ vms: 0, total_users: 0 });
    back();
    expect(await w.control.sandboxes.spawn({}, owned('bob'), {}, forever)).toMatchObject({
      state: 'running',
    });
  });
});
