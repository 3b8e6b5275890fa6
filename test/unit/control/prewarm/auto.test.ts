// Sandboxes that are kept ready without a template: how many, for whom, of what, and how long.
import { describe, expect, it } from 'vitest';
import { Demand, type PlainRequest } from '../../../../src/control/runtime/demand.ts';
import type { SpawnRequest } from '../../../../src/schema/sandbox.ts';
import type { SignalStore } from '../../../../src/store/seam/signals.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { api, forever, owned, type World, world } from '../../../support/servers/control.ts';

const MINUTE_MS = 60_000;
const spawn = (w: World, request: SpawnRequest = {}, caller = api) =>
  w.control.sandboxes.spawn(request, caller, {}, forever);
const ready = async (w: World) => (await w.store.warm.all()).filter(({ state }) => state === 'ready');
const soon = (w: World) => w.clock.advance(500);
const pass = async (w: World, ms: number) => {
  for (let at = 0; at < ms; at += 10_000) await w.clock.advance(10_000);
};

async function started(prewarm = {}, traits: Parameters<typeof world>[1] = {}, more = {}): Promise<World> {
  const w = world({ prewarm, ...more }, { kind: 'container', ...traits });
  await w.control.start();
  return w;
}

async function burst(w: World, count: number, request: SpawnRequest = {}, caller = api): Promise<void> {
  for (let n = 0; n < count; n++) await spawn(w, request, caller);
  await soon(w);
}

describe('spawns without a template', () => {
  it('get a sandbox that was started before, from the third on, with what they ask for', async () => {
    const w = await started();
    await burst(w, 1);
    expect(await ready(w)).toEqual([]);
    await burst(w, 1);
    const kept = (await ready(w)).map(({ id }) => id);
    expect(kept).toHaveLength(2);
    const asked = { metadata: { a: 'b' }, env: { X: '1' }, ttl: '5m' };
    const sandbox = await spawn(w, asked, owned('ann'));
    expect(kept).toContain(sandbox.id);
    expect(sandbox).toMatchObject({ state: 'running', owner_id: 'ann', metadata: { a: 'b' } });
    expect(Date.parse(sandbox.expires_at) - w.clock.now()).toBe(300_000);
    expect((await w.store.sandboxes.get(sandbox.id))?.env).toEqual({ X: '1' });
    await soon(w);
    expect(await w.control.metrics.body()).toMatchObject({
      prewarm: { claimed_total: 1, wanted_auto: 3 },
    });
  });

  it('keep others than those of the same image, size and network out', async () => {
    const w = await started();
    await burst(w, 2, { memory_mb: 128 });
    const kept = (await ready(w)).map(({ id }) => id);
    for (const other of [
      { memory_mb: 256 },
      { memory_mb: 128, network: 'none' },
      { memory_mb: 128, vcpus: 2 },
    ])
      expect(kept).not.toContain((await spawn(w, other as SpawnRequest)).id);
    expect(kept).toContain((await spawn(w, { memory_mb: 128 })).id);
  });

  it('are forgotten after ten minutes, and what was kept ends', async () => {
    const w = await started();
    await burst(w, 2);
    await pass(w, 9 * MINUTE_MS);
    expect(await ready(w)).toHaveLength(2);
    await pass(w, 2 * MINUTE_MS);
    expect(await ready(w)).toEqual([]);
  });

  it('never get one that is older than ten minutes', async () => {
    const w = await started();
    await burst(w, 2);
    const old = (await ready(w)).map(({ id }) => id);
    for (let n = 0; n < 11; n++) {
      await pass(w, MINUTE_MS);
      await spawn(w, { ttl: '1m' });
    }
    await pass(w, MINUTE_MS);
    const now = (await ready(w)).map(({ id }) => id);
    expect(now.length).toBeGreaterThan(0);
    expect(now.some((id) => old.includes(id))).toBe(false);
  });

  it('never get one whose image has changed', async () => {
    let id: string | undefined = 'sha256:1';
    const w = await started({}, { imageId: async () => id });
    await burst(w, 2);
    const old = (await ready(w)).map((one) => one.id);
    id = 'sha256:2';
    expect(old).not.toContain((await spawn(w)).id);
    await soon(w);
    expect((await ready(w)).some((one) => old.includes(one.id))).toBe(false);
    id = undefined;
    await burst(w, 1);
    expect(await ready(w)).toEqual([]);
  });

  it('count neither with another setup nor on other providers', async () => {
    const w = await started();
    w.fake.programs.set('true', async () => ({}));
    await w.control.templates.create({ name: 'py', image: 'host', setup: ['true'] }, api);
    for (let n = 0; n < 3; n++) await w.control.templates.spawn('py', {}, api, {}, forever);
    await soon(w);
    expect(await ready(w)).toEqual([]);
    const other = await started({}, { kind: 'userspace' });
    await burst(other, 3);
    expect(await ready(other)).toEqual([]);
  });
});

describe('the limits', () => {
  it('are a number, memory, and a quarter for one owner', async () => {
    const w = await started({ auto_max: 8, auto_memory_mb: 2000 });
    await burst(w, 10, { memory_mb: 100 }, owned('ann'));
    expect(await ready(w)).toHaveLength(2);
    await burst(w, 10, { memory_mb: 200 }, owned('ann'));
    expect(await ready(w)).toHaveLength(2);
    await burst(w, 10, { memory_mb: 100 }, owned('bob'));
    expect(await ready(w)).toHaveLength(4);
    await burst(w, 10, { memory_mb: 500 });
    expect((await ready(w)).filter(({ memory_mb }) => memory_mb === 500)).toHaveLength(4);
  });

  it.each([{ auto: false }, { auto_max: 0 }, { auto_memory_mb: 100 }])(
    'can leave nothing: %o',
    async (none) => {
      const w = await started(none);
      await burst(w, 4);
      expect(await ready(w)).toEqual([]);
    },
  );

  it('can leave nothing where prewarming is off', async () => {
    const w = await started({}, {}, { defaults: { max_prewarm: 0 } });
    await burst(w, 4);
    expect(await ready(w)).toEqual([]);
  });

  it('leave room for spawns', async () => {
    const w = await started({}, {}, { defaults: { max_sandboxes: 5 } });
    await burst(w, 2);
    expect(await ready(w)).toHaveLength(2);
    await burst(w, 3, { memory_mb: 64 });
    expect(await ready(w)).toEqual([]);
  });
});

describe('a process', () => {
  it('ends what it kept when it stops', async () => {
    const w = await started();
    await burst(w, 2);
    const kept = (await ready(w)).map(({ id }) => id);
    await w.control.stop();
    expect([...w.fake.runtimes.values()].some(({ id }) => kept.includes(id))).toBe(false);
  });

  it('ends what one that was killed has left', async () => {
    const w = await started();
    await burst(w, 2);
    const kept = (await ready(w)).map(({ id }) => id);
    await w.restart();
    await soon(w);
    expect(await ready(w)).toEqual([]);
    expect([...w.fake.runtimes.values()].some(({ id }) => kept.includes(id))).toBe(false);
  });

  it('tells the others on its database once a second, and ignores what is not readable', async () => {
    const deps = fakeDeps();
    const listeners: ((subject?: string) => void)[] = [];
    let sent = 0;
    const signals: SignalStore = {
      send: (_kind, subject) => {
        sent++;
        for (const listener of listeners) listener(subject);
      },
      on: (_kind, listener) => {
        listeners.push(listener);
        return () => {};
      },
    };
    const [first, second] = ['a', 'b'].map((replica) => new Demand({ ...deps, signals, replica }));
    const request: PlainRequest = { provider: 'container', memory_mb: 64 };
    for (let n = 0; n < 5; n++) first?.note(request, 'ann');
    expect(second?.peaks()).toEqual([]);
    await deps.clock.advance(1000);
    expect(sent).toBe(1);
    for (const demand of [first, second])
      expect(demand?.peaks()).toMatchObject([{ request, owners: new Map([['ann', 5]]) }]);
    signals.send('demand', '{');
    signals.send('demand');
    expect(second?.peaks()).toHaveLength(1);
  });

  it('remembers a bounded number of owners, shapes and spawns', async () => {
    const deps = fakeDeps();
    const signals: SignalStore = { send: () => {}, on: () => () => {} };
    const demand = new Demand({ ...deps, signals, replica: 'a' });
    const request = (memory_mb: number): PlainRequest => ({ provider: 'container', memory_mb });
    for (let n = 0; n < 100; n++) for (let owner = 0; owner < 3; owner++) demand.note(request(n), `${owner}`);
    expect(demand.peaks()).toHaveLength(16);
    for (let n = 0; n < 300; n++) demand.note(request(1), `many-${n}`);
    const [peak] = demand.peaks();
    expect(peak?.owners.size).toBe(256);
    for (let n = 0; n < 300; n++) demand.note(request(2), 'ann');
    expect(
      demand
        .peaks()
        .find(({ request: { memory_mb } }) => memory_mb === 2)
        ?.owners.get('ann'),
    ).toBe(64);
  });
});
