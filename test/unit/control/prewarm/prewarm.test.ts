// Ready sandboxes: kept, taken once, refilled, drained, given up for spawns, taken over by the next process.
import { describe, expect, it } from 'vitest';
import type { TemplateCreate } from '../../../../src/schema/template.ts';
import { api, forever, owned, roomy, type World, world } from '../../../support/servers/control.ts';

const types = (events: { type: string }[]) => events.map(({ type }) => type);
const make = (w: World, more: Partial<TemplateCreate> = {}) =>
  w.control.templates.create({ name: 'py', image: 'host', prewarm: 2, ...more }, api);
const spawn = (w: World, overrides = {}, caller = api, options = {}) =>
  w.control.templates.spawn('py', overrides, caller, options, forever);
const ids = (w: World) => [...w.fake.runtimes.values()].map(({ id }) => id).sort();
const readyIds = async (w: World) =>
  (await w.store.warm.all()).filter(({ state }) => state === 'ready').map(({ id }) => id);
/** Long enough for a look and what it starts. */
const soon = (w: World) => w.clock.advance(100);
/** In small steps, so that what one timer begins can set the next in its time. */
const pass = async (w: World, ms: number) => {
  for (let at = 0; at < ms; at += 100) await soon(w);
};

async function warmed(config = {}, template: Partial<TemplateCreate> = {}): Promise<World> {
  const w = world(config);
  await w.control.start();
  await make(w, template);
  await soon(w);
  return w;
}

describe('a template with prewarm', () => {
  it('keeps that many ready, hidden from all callers and events', async () => {
    const w = await warmed({}, { prewarm: 3 });
    expect(await readyIds(w)).toEqual(ids(w));
    expect(ids(w)).toHaveLength(3);
    expect((await w.control.sandboxes.list({ include_ended: true }, api)).sandboxes).toEqual([]);
    for (const id of ids(w))
      await expect(w.control.sandboxes.get(id, api)).rejects.toMatchObject({ code: 'not_found' });
    for (const id of ids(w)) await w.control.sandboxes.destroy(id, api);
    expect(ids(w)).toHaveLength(3);
    expect(types(await w.events())).toEqual(['template.created']);
    await w.clock.advance(48 * 3_600_000);
    expect(w.fake.made).toHaveLength(3);
  });

  it('gives one to a spawn at once, as if newly created, and creates another', async () => {
    const w = await warmed();
    const before = ids(w);
    await w.clock.advance(3_600_000);
    const sandbox = await spawn(w, { metadata: { a: 'b' }, ttl: '5m', env: { X: '1' } }, owned('ann'));
    expect(before).toContain(sandbox.id);
    expect(w.fake.made).toHaveLength(2);
    expect(sandbox).toMatchObject({
      ...{ state: 'running', owner_id: 'ann', template: 'py', metadata: { a: 'b' }, image: 'host' },
      created_at: new Date(w.clock.now()).toISOString(),
      expires_at: new Date(w.clock.now() + 300_000).toISOString(),
    });
    expect(await w.store.sandboxes.get(sandbox.id)).toMatchObject({ env: { X: '1' } });
    expect(types(await w.events()).slice(1)).toEqual(['sandbox.created', 'sandbox.running']);
    w.fake.of(sandbox.id).programs.set('x', async ({ write }) => {
      await write('stdout', 'hi');
      return {};
    });
    const attached = w.provider.calls.attach;
    const { stdout } = await w.control.exec.run(sandbox.id, { command: 'x' }, owned('ann'), forever, roomy);
    expect([stdout.toString(), w.provider.calls.attach]).toEqual(['hi', attached]);
    await soon(w);
    expect(await readyIds(w)).toHaveLength(2);
    await w.clock.advance(300_000);
    await expect(w.control.sandboxes.get(sandbox.id, owned('ann'))).rejects.toMatchObject({
      details: { end_reason: 'expired' },
    });
    expect(ids(w)).toEqual((await readyIds(w)).sort());
  });

  it('takes one with a single call of the store, where one process has the store for itself', async () => {
    const w = await warmed();
    const calls: string[] = [];
    for (const part of ['warm', 'workers', 'leases'] as const)
      for (const [name, method] of Object.entries(w.store[part]))
        Object.assign(w.store[part], {
          [name]: (...args: unknown[]) => {
            calls.push(`${part}.${name}`);
            return Reflect.apply(method as () => unknown, w.store[part], args);
          },
        });
    const before = ids(w);
    const { reserve } = w.store.sandboxes;
    w.store.sandboxes.reserve = (order) => {
      calls.push('sandboxes.reserve');
      return reserve(order);
    };
    expect(before).toContain((await spawn(w)).id);
    expect(calls).toEqual(['sandboxes.reserve']);
  });

  it('serves POST /sandboxes too, and overrides that do not change its shape', async () => {
    const w = await warmed();
    const before = ids(w);
    const one = await w.control.sandboxes.spawn({ template: 'py', memory_mb: 512 }, api, {}, forever);
    expect(before).toContain(one.id);
  });

  it.each([{ memory_mb: 64 }, { vcpus: 2 }, { network: 'none' as const }])(
    'creates a new sandbox for a spawn with %o',
    async (overrides) => {
      const w = await warmed();
      const before = ids(w);
      expect(before).not.toContain((await spawn(w, overrides)).id);
      expect(w.fake.made).toHaveLength(3);
    },
  );

  it('has finished its setup, and the env of setup is part of the shape', async () => {
    const w = world();
    let runs = 0;
    w.fake.programs.set('s', async () => {
      runs++;
      return {};
    });
    await w.control.start();
    await make(w, { setup: ['s'], env: { A: '1' } });
    await soon(w);
    const before = ids(w);
    expect(runs).toBe(2);
    expect(before).toContain((await spawn(w, { env: { A: '1' } })).id);
    expect(runs).toBe(2);
    expect(before).not.toContain((await spawn(w, { env: { A: '2' } })).id);
  });

  it('reports the differences from the request that its creation reported', async () => {
    const w = world();
    const create = w.fake.create;
    w.provider.create = async (spec, signal) => ({ ...(await create(spec, signal)), warnings: ['cut.'] });
    await w.control.start();
    await make(w);
    await soon(w);
    await w.restart();
    await soon(w);
    const before = ids(w);
    const sandbox = await spawn(w);
    expect(before).toContain(sandbox.id);
    expect(sandbox.warnings).toEqual(['cut.']);
  });

  it('honours an Idempotency-Key', async () => {
    const w = await warmed();
    const options = { idempotencyKey: 'k' };
    const [first, second] = await Promise.all([spawn(w, {}, api, options), spawn(w, {}, api, options)]);
    expect(second).toEqual(first);
    await w.restart();
    expect(await spawn(w, {}, api, options)).toEqual(first);
    expect((await w.control.sandboxes.list({}, api)).sandboxes).toHaveLength(1);
  });

  it('gives each sandbox to one of many simultaneous spawns', async () => {
    const w = await warmed({}, { prewarm: 5 });
    const made = await Promise.all(Array.from({ length: 30 }, () => spawn(w)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(30);
    expect(new Set(w.fake.made).size).toBe(w.fake.made.length);
    await w.clock.advance(1000);
    expect(ids(w)).toHaveLength(35);
  });
});

describe('caps', () => {
  it('count ready sandboxes together with all others', async () => {
    const w = await warmed({ defaults: { max_sandboxes: 3 } }, { prewarm: 5 });
    expect(ids(w)).toHaveLength(3);
    await w.clock.advance(60_000);
    expect(w.fake.made).toHaveLength(3);
  });

  it('never refuse a spawn for ready sandboxes: one of them ends first', async () => {
    const w = await warmed({ defaults: { max_sandboxes: 3 } }, { prewarm: 3 });
    let most = 0;
    const create = w.fake.create;
    w.provider.create = async (spec, signal) => {
      const created = await create(spec, signal);
      most = Math.max(most, w.fake.runtimes.size);
      return created;
    };
    for (let i = 0; i < 3; i++) await w.control.sandboxes.spawn({}, api, {}, forever);
    expect([most, ids(w).length, await w.store.warm.all()]).toEqual([3, 3, []]);
    await expect(w.control.sandboxes.spawn({}, api, {}, forever)).rejects.toMatchObject({
      code: 'resource_limit',
    });
    await w.clock.advance(60_000);
    expect(ids(w)).toHaveLength(3);
  });

  it('count a claimed sandbox, and return it when the spawn is not admitted', async () => {
    const w = await warmed({ defaults: { max_sandboxes: 1 } }, { prewarm: 1 });
    await spawn(w);
    await w.clock.advance(60_000);
    await expect(spawn(w)).rejects.toMatchObject({ code: 'resource_limit' });
    expect(ids(w)).toHaveLength(1);
  });

  it('limit all templates together', async () => {
    const w = await warmed({ defaults: { max_prewarm: 3 } }, { prewarm: 2 });
    await make(w, { name: 'az', prewarm: 2 });
    await soon(w);
    const rows = await w.store.warm.all();
    expect(rows.map(({ template }) => template).sort()).toEqual(['az', 'az', 'py']);
    expect(ids(w)).toHaveLength(3);
  });
});

describe('when the template', () => {
  it.each<[string, Partial<TemplateCreate>]>([
    ['changes its shape', { memory_mb: 64 }],
    ['only has a new version', {}],
  ])('%s, all are replaced', async (_, facts) => {
    const w = await warmed();
    const before = ids(w);
    await w.control.templates.update('py', { image: 'host', prewarm: 2, ...facts }, api, {});
    const cold = await spawn(w);
    expect(before).not.toContain(cold.id);
    await soon(w);
    await w.control.sandboxes.destroy(cold.id, api);
    expect(ids(w)).toHaveLength(2);
    expect(ids(w).some((id) => before.includes(id))).toBe(false);
  });

  it('needs fewer, or is deleted, the surplus ends', async () => {
    const w = await warmed({}, { prewarm: 3 });
    await w.control.templates.update('py', { image: 'host', prewarm: 1 }, api, {});
    await soon(w);
    expect(ids(w)).toHaveLength(1);
    await w.control.templates.delete('py', api);
    await soon(w);
    expect([ids(w), await w.store.warm.all()]).toEqual([[], []]);
  });

  it('is deleted during a creation, that sandbox ends too', async () => {
    const w = world();
    await w.control.start();
    w.provider.decide = (operation) => (operation === 'create' ? 'late' : undefined);
    await make(w);
    await w.clock.advance(0);
    await w.control.templates.delete('py', api);
    w.provider.decide = () => undefined;
    w.provider.release();
    await w.clock.advance(2000);
    expect([ids(w), await w.store.warm.all()]).toEqual([[], []]);
  });
});

describe('failures', () => {
  it('of a creation are retried with growing delays, and leave nothing behind', async () => {
    const w = world();
    w.provider.decide = (operation) => (operation === 'create' ? 'lost' : undefined);
    await w.control.start();
    await make(w, { prewarm: 1 });
    await pass(w, 30_000);
    expect(w.fake.made.length).toBeGreaterThan(3);
    expect(w.fake.made.length).toBeLessThan(7);
    expect([ids(w), await w.store.warm.all()]).toEqual([[], []]);
    w.provider.decide = () => undefined;
    await pass(w, 60_000);
    expect(ids(w)).toHaveLength(1);
  });

  it('of setup are retried too', async () => {
    const w = world();
    let runs = 0;
    w.fake.programs.set('s', async () => ({ exit_code: ++runs > 2 ? 0 : 1 }));
    await w.control.start();
    await make(w, { setup: ['s'], prewarm: 1 });
    await pass(w, 10_000);
    expect([runs, ids(w).length]).toEqual([3, 1]);
  });

  it('of a ready sandbox: a dead one is replaced, a silent one is not given out', async () => {
    const w = await warmed();
    const [first = '', second = ''] = ids(w);
    w.fake.crash(first);
    await soon(w);
    expect(ids(w)).toHaveLength(2);
    expect(ids(w)).not.toContain(first);
    w.fake.of(second).answers = false;
    const taken = await spawn(w);
    expect(taken.id).not.toBe(second);
    await soon(w);
    expect(ids(w)).not.toContain(second);
    expect(await readyIds(w)).toHaveLength(2);
  });

  it('of the database during a claim give no sandbox out twice and lose none', async () => {
    const w = await warmed();
    const reserve = w.store.sandboxes.reserve;
    for (const after of [false, true]) {
      w.store.sandboxes.reserve = async (...request) => {
        w.store.sandboxes.reserve = reserve;
        if (after) await reserve(...request);
        throw new Error('the answer is lost');
      };
      await expect(spawn(w)).rejects.toThrow('the answer is lost');
      await w.clock.advance(2000);
      expect(await readyIds(w)).toHaveLength(2);
      expect((await w.control.sandboxes.list({}, api)).sandboxes).toHaveLength(after ? 1 : 0);
    }
    expect(ids(w)).toHaveLength(3);
  });

  it('to end one are retried', async () => {
    const w = await warmed();
    let refusals = 4;
    w.provider.decide = (operation) => (operation === 'destroy' && refusals-- > 0 ? 'fail' : undefined);
    await w.control.templates.delete('py', api);
    await pass(w, 30_000);
    expect([ids(w), await w.store.warm.all()]).toEqual([[], []]);
  });
});

describe('a restart', () => {
  it('takes over ready sandboxes', async () => {
    const w = await warmed();
    const before = ids(w);
    await w.restart();
    await pass(w, 60_000);
    expect(ids(w)).toEqual(before);
    expect(w.fake.made).toHaveLength(2);
    expect(before).toContain((await spawn(w)).id);
  });

  it('ends unfinished, dead and surplus sandboxes', async () => {
    const w = await warmed();
    const [dead = ''] = ids(w);
    w.provider.decide = (operation) => (operation === 'create' ? 'lost' : undefined);
    await spawn(w, { metadata: {} });
    await w.clock.advance(60);
    await w.store.templates.delete({ name: 'py' });
    w.provider.decide = () => undefined;
    for (const runtime of w.fake.runtimes.values()) if (runtime.id === dead) runtime.state = 'stopped';
    await w.restart();
    await pass(w, 10_000);
    const live = (await w.control.sandboxes.list({}, api)).sandboxes.map(({ id }) => id);
    expect(ids(w)).toEqual(live);
    expect(await w.store.warm.all()).toEqual([]);
  });

  it('in order keeps ready sandboxes and ends unfinished ones', async () => {
    const w = await warmed({}, { prewarm: 1 });
    const before = ids(w);
    w.fake.programs.set('wait', () => new Promise(() => {}));
    await make(w, { name: 'slow', setup: ['wait'], prewarm: 1 });
    await soon(w);
    expect(ids(w)).toHaveLength(2);
    await w.control.stop();
    expect(ids(w)).toEqual(before);
    expect(await w.store.warm.all()).toMatchObject([{ id: before[0], state: 'ready' }]);
  });
});
