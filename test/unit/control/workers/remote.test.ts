// Sandboxes on other workers, over lines that a test may cut: where they go, what reaches them, and how they end.
import { describe, expect, it } from 'vitest';
import { Replica } from '../../../../proof/simulation/replicas.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import type { HeartbeatBody } from '../../../../src/schema/worker.ts';
import { memoryStore } from '../../../support/memory-store/store.ts';
import { api, forever, roomy, type World, world } from '../../../support/servers/control.ts';
import { until } from '../../../support/until.ts';

const BODY: HeartbeatBody = {
  ...{ status: 'online', providers: ['userspace'], rpc_url: 'http://10.0.0.9:7500' },
  capacity: { max_sandboxes: 2 },
};
const TOKENS = { w1: '1'.repeat(40), w2: '2'.repeat(40) };

/** This server drains, so that what is spawned goes elsewhere. */
async function fleet(
  ids: readonly ('w1' | 'w2')[] = ['w1'],
  auth: { worker_tokens: Record<string, string> } = { worker_tokens: TOKENS },
): Promise<World> {
  const w = world({ auth });
  await w.control.start();
  await w.control.workers.drain('local', true);
  for (const id of ids) await w.control.workers.heartbeat(id, BODY);
  return w;
}
const spawn = (w: World, request = {}) => w.control.sandboxes.spawn(request, api, {}, forever);
const leases = async (w: World) => (await w.control.metrics.body()).leases;
/** The workers go on to be heard. */
const later = async (w: World, ms: number, ids: readonly string[] = ['w1']) => {
  for (let left = ms; left > 0; left -= 30_000) {
    for (const id of ids) await w.control.workers.heartbeat(id, BODY);
    await w.clock.advance(Math.min(left, 30_000));
  }
};

it('are placed by load, never beyond the capacity of a worker', async () => {
  const w = await fleet(['w2', 'w1']);
  const made = await Promise.all([spawn(w), spawn(w), spawn(w), spawn(w)]);
  expect(made.map(({ worker_id }) => worker_id).sort()).toEqual(['w1', 'w1', 'w2', 'w2']);
  expect(await w.control.sandboxes.admission({}, api)).toMatchObject({
    ...{ allowed: false, reason: 'worker_capacity', eligible_workers: 0 },
  });
  await expect(spawn(w)).rejects.toMatchObject({ code: 'resource_limit' });
  await w.control.workers.drain('local', false);
  expect(await w.control.sandboxes.admission({}, api)).toMatchObject({
    ...{ allowed: true, selected_worker_id: 'local', eligible_workers: 1 },
  });
  expect(await spawn(w)).toMatchObject({ worker_id: 'local' });
  expect(
    w.told
      .filter(({ type }) => type === 'sandbox.created')
      .map(({ data }) => data?.worker_id)
      .sort(),
  ).toEqual(['local', 'w1', 'w1', 'w2', 'w2']);
});

describe('of any provider', () => {
  const OTHER = { ...BODY, providers: ['container'], capacity: { max_sandboxes: 1 } };
  const mixed = async (config: Parameters<typeof world>[0] = {}) => {
    const w = world({ auth: { worker_tokens: TOKENS }, ...config });
    w.config.current().providers.userspace.max_sandboxes = 1;
    await w.control.start();
    await w.control.workers.heartbeat('w1', OTHER);
    return w;
  };
  const goesTo = { allowed: true, provider: 'container', selected_worker_id: 'w1' };

  it('go to the provider of a worker when this server drains', async () => {
    const w = await mixed();
    expect(await spawn(w)).toMatchObject({ worker_id: 'local', provider: 'userspace' });
    await w.control.workers.drain('local', true);
    expect(await w.control.sandboxes.admission({}, api)).toMatchObject(goesTo);
    await expect(spawn(w, { provider: 'userspace' })).rejects.toMatchObject({
      details: { reason: 'worker_unavailable' },
    });
    expect(await spawn(w)).toMatchObject({ worker_id: 'w1', provider: 'container' });
    expect(await w.control.sandboxes.admission({}, api)).toMatchObject({ allowed: false });
    await expect(spawn(w)).rejects.toMatchObject({ details: { reason: 'worker_capacity' } });
  });

  it('run on workers when this server is full, and on this server when it has capacity again', async () => {
    const w = await mixed();
    const here = await spawn(w);
    expect(await w.control.sandboxes.admission({}, api)).toMatchObject(goesTo);
    expect(await spawn(w)).toMatchObject({ worker_id: 'w1', provider: 'container' });
    await expect(spawn(w)).rejects.toMatchObject({ details: { reason: 'worker_capacity' } });
    await w.control.sandboxes.destroy(here.id, api);
    expect(await spawn(w)).toMatchObject({ worker_id: 'local', provider: 'userspace' });
  });

  it('that wait get the first free place', async () => {
    const w = await mixed({
      worker: { heartbeat_interval: '10m' },
      defaults: { spawn_overflow: 'queue', spawn_queue_timeout: '1m' },
    });
    const [here, there] = [await spawn(w), await spawn(w)];
    for (const { id, worker_id, provider } of [there, here]) {
      const waiting = spawn(w);
      await w.clock.advance(10);
      await w.control.sandboxes.destroy(id, api);
      await w.clock.advance(10);
      expect(await waiting).toMatchObject({ worker_id, provider });
    }
  });
});

it('are refused when no worker is left', async () => {
  const w = await fleet([]);
  expect(await w.control.sandboxes.admission({}, api)).toMatchObject({ reason: 'worker_unavailable' });
  await expect(spawn(w)).rejects.toMatchObject({
    ...{ code: 'unavailable', details: { reason: 'worker_unavailable' } },
  });
});

it('run under a lease, answer 501 to exec, and release the lease when they end', async () => {
  const w = await fleet();
  const { id } = await spawn(w);
  expect(w.remote.leases).toMatchObject([{ resource_id: id, holder_id: 'w1', generation: 1 }]);
  expect(w.remote.worker('w1').runtimes.size).toBe(1);
  await expect(w.control.exec.run(id, { command: 'x' }, api, forever, roomy)).rejects.toMatchObject({
    code: 'not_implemented',
  });
  await expect(w.control.files.stat(id, '/x', api, forever)).rejects.toMatchObject({
    code: 'not_implemented',
  });
  await expect(w.control.logs.read(id, 1, api, forever, roomy)).rejects.toMatchObject({
    code: 'not_implemented',
  });
  expect(await w.control.sandboxes.get(id, api)).toMatchObject({ state: 'running', worker_id: 'w1' });
  await w.control.sandboxes.destroy(id, api);
  expect(w.remote.worker('w1').runtimes.size).toBe(0);
  expect(await leases(w)).toMatchObject({ total: 0 });
});

it('show their previews on every server, whichever of them received the heartbeats of their worker', async () => {
  const alone = world({ auth: { worker_tokens: TOKENS }, server: { preview_domain: 'a.test' } });
  const w = { ...alone, store: memoryStore({ ...alone, isShared: true }) };
  const control = () => new Replica(w, () => ({ kind: 'pass', ms: 0 })).control;
  const [first, ...others] = [control(), control(), control(), control()];
  await first!.start();
  await first!.workers.drain('local', true);
  await first!.workers.heartbeat('w1', { ...BODY, capabilities: ['sessions', 'userspace/connect'] });
  const spawn = (n: number) => others[n]!.sandboxes.spawn({}, api, { idempotencyKey: 'k' }, forever);
  const made = await first!.sandboxes.spawn({}, api, { idempotencyKey: 'k' }, forever);
  expect(made).toMatchObject({ worker_id: 'w1', preview_domain: 'a.test' });
  expect(await spawn(0)).toEqual(made);
  expect(await others[1]!.sandboxes.get(made.id, api)).toEqual(made);
  expect(await others[2]!.sandboxes.list({}, api)).toEqual({ sandboxes: [made] });
});

it('get a new deadline also when their lease is renewed before the call arrives', async () => {
  const w = await fleet();
  const { id } = await spawn(w);
  const { renew } = w.remote;
  const identity = { worker_id: 'w1', secret: TOKENS.w1, scopes: [] };
  const seen: number[] = [];
  w.remote.renew = async (worker, lease, ...rest) => {
    seen.push(lease.generation);
    if (seen.length > 1) return renew(worker, lease, ...rest);
    await w.control.workers.renew(identity, id, undefined);
    throw new ServiceError('unavailable', 'A newer lease exists.');
  };
  await w.control.sandboxes.extend(id, { ttl: '1h' }, api);
  expect(seen).toEqual([1, 2]);
  w.remote.renew = async () => {
    throw new ServiceError('unavailable', 'It is ill.');
  };
  await expect(w.control.sandboxes.extend(id, { ttl: '2h' }, api)).rejects.toMatchObject({
    message: 'It is ill.',
  });
});

it('pass a new deadline to their worker, and show the state that the worker reports', async () => {
  const w = await fleet();
  const { id } = await spawn(w);
  await w.control.sandboxes.extend(id, { ttl: '1h' }, api);
  expect(w.remote.calls.at(-1)).toBe(`w1 renew ${id} 1h`);
  await w.control.sandboxes.get(id, api);
  await w.control.sandboxes.get(id, api);
  expect(w.remote.calls.filter((call) => call.startsWith('w1 status'))).toHaveLength(1);
  w.remote.worker('w1').runtimes.clear();
  await w.clock.advance(2000);
  expect(await w.control.sandboxes.get(id, api)).toMatchObject({ state: 'running' });
  await w.clock.advance(1000);
  const isOver = async () => (await w.store.sandboxes.get(id))?.state === 'destroyed';
  await until('its end', isOver);
  expect(await w.store.sandboxes.get(id)).toMatchObject({ end_reason: 'runtime_lost' });
});

it('leave nothing behind when the answer to their spawn is lost', async () => {
  const w = await fleet();
  w.remote.lines.set('w1', 'lost');
  await expect(spawn(w)).rejects.toMatchObject({ code: 'unavailable' });
  expect(w.remote.worker('w1').runtimes.size).toBe(0);
  expect(await w.store.sandboxes.list({ include_ended: true, limit: 9 })).toMatchObject([{ state: 'error' }]);
  expect(await leases(w)).toMatchObject({ total: 0 });
});

it('end with their lease, and not before, when their worker stops sending heartbeats', async () => {
  const w = await fleet();
  const { id } = await spawn(w, { ttl: '24h' });
  w.remote.lines.set('w1', 'cut');
  w.clock.jump(3_600_000);
  await later(w, 60_000);
  expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'running' });
  await w.clock.advance(65_000);
  expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'unhealthy' });
  await w.clock.advance(20_000);
  expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'unhealthy' });
  await w.clock.advance(20_000);
  expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'destroyed', end_reason: 'worker_lost' });
  expect(await leases(w)).toMatchObject({ total: 0 });
});

it('keep running when their worker returns in time and renews', async () => {
  const w = await fleet();
  const { id } = await spawn(w);
  await w.clock.advance(119_000);
  const identity = { worker_id: 'w1', secret: TOKENS.w1, scopes: [] };
  await w.control.workers.renew(identity, id, undefined);
  await w.clock.advance(10_000);
  expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'unhealthy' });
  await w.control.workers.heartbeat('w1', BODY);
  await w.clock.advance(5000);
  expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'running' });
});

it('end with their lease when the credential of their worker is revoked', async () => {
  const auth = { worker_tokens: { ...TOKENS } as Record<string, string> };
  const w = await fleet(['w1'], auth);
  const { id } = await spawn(w);
  delete auth.worker_tokens.w1;
  await expect(w.control.sandboxes.destroy(id, api)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'destroying' });
  await w.clock.advance(240_000);
  expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'destroyed' });
  expect(await leases(w)).toMatchObject({ total: 0 });
});

it('that are destroyed during a network cut end when it is over, or with their lease', async () => {
  const w = await fleet(['w1', 'w2']);
  const [a, b] = [await spawn(w), await spawn(w)];
  for (const id of ['w1', 'w2']) w.remote.lines.set(id, 'cut');
  for (const { id } of [a, b])
    await expect(w.control.sandboxes.destroy(id, api)).rejects.toMatchObject({ code: 'unavailable' });
  w.remote.lines.set(a.worker_id, 'open');
  await w.clock.advance(10_000);
  expect(await w.store.sandboxes.get(a.id)).toMatchObject({ state: 'destroyed' });
  expect(await w.store.sandboxes.get(b.id)).toMatchObject({ state: 'destroying' });
  await w.clock.advance(150_000);
  expect(await w.store.sandboxes.get(b.id)).toMatchObject({ state: 'destroyed', end_reason: 'destroyed' });
});

describe('a worker that hangs', () => {
  const MANY = 40;
  const hanging = async () => {
    const w = await fleet(['w1', 'w2']);
    for (const id of ['w1', 'w2'])
      await w.control.workers.heartbeat(id, { ...BODY, capacity: { max_sandboxes: MANY } });
    const made = await Promise.all(Array.from({ length: 2 * MANY }, () => spawn(w, { ttl: '10s' })));
    const on = (worker: string) => made.filter((each) => each.worker_id === worker).map(({ id }) => id);
    expect([on('w1'), on('w2')].map(({ length }) => length)).toEqual([MANY, MANY]);
    w.remote.lines.set('w1', 'hang');
    return { w, on };
  };
  const ended = async (w: World, ids: string[]) =>
    (await Promise.all(ids.map((id) => w.store.sandboxes.get(id)))).filter((row) => row?.ended_at).length;

  it('delays only the ends of its own sandboxes, until their leases expire', async () => {
    const { w, on } = await hanging();
    await w.clock.advance(20_000);
    expect([await ended(w, on('w1')), await ended(w, on('w2'))]).toEqual([0, MANY]);
    const asked = () => w.remote.calls.filter((call) => call.startsWith('w1 destroy')).length;
    expect(asked()).toBe(8);
    for (const id of on('w1')) {
      const row = await w.store.sandboxes.get(id);
      expect(row?.state).toBe('destroying');
    }
    await w.clock.advance(120_000);
    expect(asked()).toBeLessThan(30);
    await w.clock.advance(40_000);
    expect(await ended(w, on('w1'))).toBe(MANY);
    expect(await leases(w)).toMatchObject({ total: 0 });
  });

  it('delays the answer to a failed spawn for a few seconds, and its row ends once the worker confirms', async () => {
    const w = await fleet(['w1']);
    w.remote.lines.set('w1', 'hang');
    let failure: unknown;
    void spawn(w).catch((error: unknown) => {
      failure = error;
    });
    await w.clock.advance(60_000);
    expect(failure).toBeUndefined();
    await w.clock.advance(16000);
    expect(failure).toMatchObject({ code: 'unavailable' });
    const [row] = await w.store.sandboxes.inStates(['destroying'], 9);
    expect(row).toMatchObject({ worker_id: 'w1', end_reason: 'spawn_failed' });
    await w.clock.advance(160_000);
    expect(await w.store.sandboxes.get(row?.id ?? '')).toMatchObject({ end_reason: 'spawn_failed' });
    expect(await leases(w)).toMatchObject({ total: 0 });
  });

  it('does not stop the lease monitor while its unfinished spawns are abandoned', async () => {
    const { w } = await hanging();
    await w.control.workers.drain('w2', true);
    await w.control.workers.heartbeat('w1', { ...BODY, capacity: { max_sandboxes: 2 * MANY } });
    for (let i = 0; i < 4; i++) void spawn(w).catch(() => undefined);
    await w.clock.advance(10);
    w.remote.lines.set('w2', 'cut');
    const restarted = w.restart();
    await w.clock.advance(6_000);
    await restarted;
    expect(await w.store.sandboxes.inStates(['creating'], 9)).toHaveLength(4);
    // The server that restarted counts the leases from when it saw them.
    await w.clock.advance(220_000);
    expect(await leases(w)).toMatchObject({ total: 0 });
    expect(await w.store.sandboxes.list({ limit: 9 })).toEqual([]);
  });
});

it('get the processor limit of their worker, not of this server', async () => {
  const w = await fleet([]);
  await w.control.workers.heartbeat('w1', { ...BODY, capacity: { max_sandboxes: 0, vcpus: 8 } });
  const [six, many] = [await spawn(w, { vcpus: 6 }), await spawn(w, { vcpus: 64 })];
  expect(six).toMatchObject({ worker_id: 'w1', vcpus: 6 });
  expect(six).not.toHaveProperty('warnings');
  expect(many).toMatchObject({ vcpus: 8, warnings: ['vcpus is 8: worker w1 has no more.'] });
  await w.control.workers.drain('local', false);
  expect(await spawn(w, { vcpus: 6 })).toMatchObject({ worker_id: 'local', vcpus: 4 });
});

it('are refused with strict when the worker has less, and keep its warnings without', async () => {
  const w = await fleet();
  await w.control.workers.heartbeat('w1', { ...BODY, capacity: { max_sandboxes: 2, vcpus: 2 } });
  const words = 'vcpus is 2: worker w1 has no more.';
  await expect(spawn(w, { vcpus: 3, strict: true })).rejects.toMatchObject({
    ...{ code: 'precondition_failed', details: { unmet: [words] } },
  });
  const { id } = await spawn(w, { vcpus: 3 });
  expect((await w.control.sandboxes.get(id, api)).warnings).toEqual([words]);
  expect((await spawn(w, { vcpus: 2, strict: true })).worker_id).toBe('w1');
});
