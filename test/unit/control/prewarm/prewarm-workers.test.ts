// Ready sandboxes on workers: where they are kept, what a taken one is, and what loss and drain of a worker do to them.
import { describe, expect, it } from 'vitest';
import type { HeartbeatBody } from '../../../../src/schema/worker.ts';
import { admin, api, forever, roomy, type World, world } from '../../../support/servers/control.ts';

const BODY: HeartbeatBody = {
  ...{ status: 'online', providers: ['userspace'], rpc_url: 'http://10.0.0.9:7500' },
  ...{ capabilities: ['sessions', 'userspace/exec'], capacity: { max_sandboxes: 0 } },
};
const TOKENS = { w1: '1'.repeat(40), w2: '2'.repeat(40) };

/** In small steps, so that what one timer begins can set the next in its time. */
const pass = async (w: World, ms: number) => {
  for (let at = 0; at < ms; at += 100) await w.clock.advance(100);
};
const places = async (w: World) =>
  (await w.store.warm.all()).filter(({ state }) => state === 'ready').map(({ worker_id }) => worker_id);
const stats = async (w: World) => (await w.control.metrics.body()).prewarm;
const spawn = (w: World, overrides = {}) => w.control.templates.spawn('py', overrides, api, {}, forever);
const ended = (w: World, worker: string) =>
  w.remote.calls.filter((call) => call.startsWith(`${worker} destroy`)).length;
/** Runtimes that are on the worker. */
const running = (w: World, id: string) => w.remote.worker(id).runtimes.size;

/** This server drains, unless `local`. */
async function fleet(
  workers: Record<string, HeartbeatBody> = { w1: BODY },
  { local = false, prewarm = 2, config = {}, setup = [] as string[] } = {},
): Promise<World> {
  const w = world({ auth: { worker_tokens: TOKENS }, ...config });
  await w.control.start();
  if (!local) await w.control.workers.drain('local', true);
  for (const [id, body] of Object.entries(workers)) await w.control.workers.heartbeat(id, body);
  await w.control.templates.create({ name: 'py', image: 'host', prewarm, setup }, api);
  await pass(w, 300);
  return w;
}

describe('templates with prewarm', () => {
  it('keep ready sandboxes on workers when this server does not accept any', async () => {
    const w = await fleet({ w1: BODY, w2: BODY }, { prewarm: 4 });
    expect((await places(w)).sort()).toEqual(['w1', 'w1', 'w2', 'w2']);
    expect(await stats(w)).toMatchObject({ wanted: 4, ready: 4, by_worker: { w1: 2, w2: 2 } });
    expect(await w.control.templates.get('py', admin)).toMatchObject({ ready: { w1: 2, w2: 2 } });
    expect(await w.control.templates.get('py', api)).not.toHaveProperty('ready');
    expect((await w.store.leases.list()).map(({ holder_id }) => holder_id).sort()).toEqual([
      ...['w1', 'w1', 'w2', 'w2'],
    ]);
    expect(w.fake.made).toEqual([]);
    expect((await w.control.sandboxes.list({ include_ended: true }, api)).sandboxes).toEqual([]);
  });

  it('keep them on this server up to its limit, and the others on a worker', async () => {
    const w = world({ auth: { worker_tokens: TOKENS } });
    w.config.current().providers.userspace.max_sandboxes = 2;
    await w.control.start();
    await w.control.workers.heartbeat('w1', BODY);
    await w.control.templates.create({ name: 'py', image: 'host', prewarm: 3 }, api);
    await pass(w, 300);
    expect((await places(w)).sort()).toEqual(['local', 'local', 'w1']);
    // Two of this server, then the one of the worker, each at once.
    const made = w.fake.made.length + w.remote.worker('w1').made.length;
    const got = [await spawn(w), await spawn(w), await spawn(w)];
    expect(got.map(({ worker_id }) => worker_id)).toEqual(['local', 'local', 'w1']);
    expect(w.fake.made.length + w.remote.worker('w1').made.length).toBe(made);
  });

  it('keep none on workers without sessions or capacity', async () => {
    const w = await fleet(
      { w1: { ...BODY, capabilities: [] }, w2: { ...BODY, capacity: { max_sandboxes: 1 } } },
      { prewarm: 3 },
    );
    expect(await places(w)).toEqual(['w2']);
    await w.control.workers.heartbeat('w1', BODY);
    await pass(w, 6000);
    expect((await places(w)).sort()).toEqual(['w1', 'w1', 'w2']);
  });

  it('keep them on workers that meet the demand of the template, and give them to spawns that do', async () => {
    const w = await fleet(
      { w1: { ...BODY, labels: { gpu: 'a100' } }, w2: BODY },
      { local: true, prewarm: 0 },
    );
    const template = { name: 'gpu', image: 'host', prewarm: 2, worker_labels: { gpu: 'a100' } };
    await w.control.templates.create(template, api);
    await pass(w, 300);
    expect(await places(w)).toEqual(['w1', 'w1']);
    const { made } = w.remote.worker('w1');
    const started = made.length;
    const spawnGpu = (more = {}) => w.control.templates.spawn('gpu', more, api, {}, forever);
    expect(await spawnGpu()).toMatchObject({ worker_id: 'w1' });
    expect(await spawnGpu({ worker_id: 'w1' })).toMatchObject({ worker_id: 'w1' });
    expect(made.length).toBe(started);
    await pass(w, 300);
    await w.control.workers.heartbeat('w2', { ...BODY, labels: { gpu: 'a100' } });
    expect(await spawnGpu({ worker_id: 'w2' })).toMatchObject({ worker_id: 'w2' });
    await w.control.workers.heartbeat('w1', { ...BODY, labels: {} });
    expect(await spawnGpu()).toMatchObject({ worker_id: 'w2' });
    expect(await places(w)).toEqual(['w1', 'w1']);
  });

  it('run their setup there', async () => {
    const w = world({ auth: { worker_tokens: TOKENS } });
    let runs = 0;
    w.remote.worker('w1').programs.set('s', async () => {
      runs++;
      return {};
    });
    await w.control.start();
    await w.control.workers.drain('local', true);
    await w.control.workers.heartbeat('w1', BODY);
    await w.control.templates.create({ name: 'py', image: 'host', prewarm: 2, setup: ['s'] }, api);
    await pass(w, 300);
    expect([runs, (await places(w)).length]).toEqual([2, 2]);
    expect(await spawn(w)).toMatchObject({ worker_id: 'w1', state: 'running' });
    expect(runs).toBe(2);
  });
});

describe('spawns without a template on a worker', () => {
  const container = { ...BODY, providers: ['container'], capabilities: ['sessions', 'container/exec'] };
  const auto = (w: World) => w.control.sandboxes.spawn({ provider: 'container' }, api, {}, forever);

  async function kept(tells: (ask: number) => Promise<boolean | undefined>): Promise<World> {
    const w = world({ auth: { worker_tokens: TOKENS }, prewarm: { auto: true } });
    let asks = 0;
    w.remote.worker('w1').hasCurrentImage = () => tells(++asks);
    await w.control.start();
    await w.control.workers.drain('local', true);
    await w.control.workers.heartbeat('w1', container);
    for (let n = 0; n < 2; n++) await auto(w);
    await pass(w, 1000);
    expect(await places(w)).toEqual(['w1', 'w1']);
    return w;
  }

  it.each([true, undefined])(
    'get one that is ready where the worker tells of its image: %s',
    async (told) => {
      const w = await kept(async () => told);
      const before = (await w.store.warm.all()).map(({ id }) => id);
      expect(before).toContain((await auto(w)).id);
    },
  );

  it('get a new one where the image has changed there, or the worker does not answer', async () => {
    const w = await kept(async (ask) => {
      if (ask === 1) throw new Error('no answer');
      return false;
    });
    const before = (await w.store.warm.all()).map(({ id }) => id);
    expect(before).not.toContain((await auto(w)).id);
    await pass(w, 2000);
    const now = (await w.store.warm.all()).map(({ id }) => id);
    expect(now.filter((id) => before.includes(id))).toEqual([]);
  });
});

describe('a ready sandbox of a worker', () => {
  it('becomes an ordinary sandbox of that worker, with its lease and its lifetime', async () => {
    const w = await fleet();
    const made = w.remote.worker('w1').made.length;
    const before = (await w.store.warm.all()).map(({ id }) => id);
    const sandbox = await spawn(w, { ttl: '5m' });
    expect(before).toContain(sandbox.id);
    expect(sandbox).toMatchObject({ worker_id: 'w1', state: 'running', template: 'py' });
    expect(w.remote.worker('w1').made.length).toBe(made);
    expect(await w.store.leases.get(sandbox.id)).toMatchObject({ holder_id: 'w1', generation: 1 });
    expect(w.remote.calls).toContain(`w1 renew ${sandbox.id} 5m`);
    expect(w.told.find(({ type }) => type === 'sandbox.created')?.data?.worker_id).toBe('w1');
    w.remote
      .worker('w1')
      .of(sandbox.id)
      .programs.set('x', async ({ write }) => {
        await write('stdout', 'hi');
        return {};
      });
    const { stdout } = await w.control.exec.run(sandbox.id, { command: 'x' }, api, forever, roomy);
    expect(stdout.toString()).toBe('hi');
    await pass(w, 300);
    expect(await stats(w)).toMatchObject({ ready: 2, claimed_total: 1, missed_total: 0 });
    await w.control.sandboxes.destroy(sandbox.id, api);
    expect(await w.store.leases.get(sandbox.id)).toBeUndefined();
    expect(running(w, 'w1')).toBe(2);
  });

  it('is renewed by its worker until it is taken, and then with the lifetime of its spawn', async () => {
    const w = await fleet();
    const identity = { worker_id: 'w1', secret: TOKENS.w1, scopes: [] };
    const [{ id } = { id: '' }] = await w.store.warm.all();
    const renew = () => w.control.workers.renew(identity, id, undefined);
    expect(await renew()).toMatchObject({ sandbox_ttl: '8760h', lease: { generation: 2, holder_id: 'w1' } });
    const [one, two] = [await spawn(w, { ttl: '5m' }), await spawn(w, { ttl: '5m' })];
    expect([one.id, two.id]).toContain(id);
    expect(await renew()).toMatchObject({ sandbox_ttl: '5m', lease: { generation: 3 } });
    await w.control.sandboxes.destroy(id, api);
    await expect(renew()).rejects.toMatchObject({ code: 'conflict' });
  });

  it('stays with its template over a restart of this server', async () => {
    const w = await fleet();
    const before = (await w.store.warm.all()).map(({ id }) => id);
    await w.restart();
    await pass(w, 300);
    expect((await w.store.warm.all()).map(({ id }) => id)).toEqual(before);
    expect(await stats(w)).toMatchObject({ ready: 2, by_worker: { w1: 2 } });
    expect(before).toContain((await spawn(w)).id);
  });

  it('makes room for a spawn on a full worker', async () => {
    const w = await fleet({ w1: { ...BODY, capacity: { max_sandboxes: 2 } } });
    expect(running(w, 'w1')).toBe(2);
    const plain = await w.control.sandboxes.spawn({}, api, {}, forever);
    expect(plain.worker_id).toBe('w1');
    expect(running(w, 'w1')).toBe(2);
    expect(await stats(w)).toMatchObject({ evicted_total: 1, ready: 1 });
  });

  it('is not taken when it does not answer', async () => {
    const w = await fleet({ w1: BODY }, { prewarm: 1 });
    const [before] = await w.store.warm.all();
    w.remote.worker('w1').of(before?.id ?? '').answers = false;
    const spawning = spawn(w);
    await pass(w, 1000);
    expect((await spawning).id).not.toBe(before?.id);
    expect(await w.store.warm.get(before?.id ?? '')).toBeUndefined();
  });
});

describe('a worker that', () => {
  it('drains ends its ready sandboxes, which others then keep', async () => {
    const w = await fleet({ w1: BODY });
    expect(await places(w)).toEqual(['w1', 'w1']);
    const live = await spawn(w);
    await w.control.workers.heartbeat('w2', BODY);
    await w.control.workers.drain('w1', true);
    await pass(w, 300);
    expect(await places(w)).toEqual(['w2', 'w2']);
    expect(running(w, 'w1')).toBe(1);
    expect(await w.control.sandboxes.get(live.id, api)).toMatchObject({ state: 'running', worker_id: 'w1' });
    await w.control.sandboxes.destroy(live.id, api);
    await w.control.workers.remove('w1');
  });

  it('is lost loses its ready sandboxes at once and is called until it has ended them', async () => {
    const w = await fleet({ w1: BODY });
    await w.control.workers.heartbeat('w2', BODY);
    w.remote.lines.set('w1', 'cut');
    for (const { id } of await w.store.warm.all()) w.remote.worker('w1').crash(id);
    await w.control.workers.drain('w1', true);
    await pass(w, 1000);
    expect((await places(w)).filter((id) => id === 'w2')).toHaveLength(2);
    expect(ended(w, 'w1')).toBeGreaterThan(0);
    expect(await w.store.leases.list()).toHaveLength(4);
    for (let left = 0; left < 180_000; left += 10_000) {
      await w.control.workers.heartbeat('w2', BODY);
      for (const { resource_id, holder_id } of await w.store.leases.list())
        if (holder_id === 'w2')
          await w.control.workers.renew(
            { worker_id: 'w2', secret: TOKENS.w2, scopes: [] },
            resource_id,
            undefined,
          );
      await pass(w, 10_000);
    }
    expect((await w.store.leases.list()).map(({ holder_id }) => holder_id)).toEqual(['w2', 'w2']);
    expect(await w.store.warm.all()).toHaveLength(2);
  });

  it('no longer renews loses its ready sandboxes with their leases', async () => {
    const w = await fleet({ w1: BODY }, { prewarm: 1 });
    expect(await places(w)).toEqual(['w1']);
    const [before] = await w.store.warm.all();
    await w.control.workers.heartbeat('w2', BODY);
    for (let left = 0; left < 150_000; left += 10_000) {
      await w.control.workers.heartbeat('w2', BODY);
      await pass(w, 10_000);
    }
    expect(await w.store.warm.get(before?.id ?? '')).toBeUndefined();
    expect(await places(w)).toEqual(['w2']);
  });
});
