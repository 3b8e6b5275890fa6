// Rows against runtimes: after a crash, after deaths behind our back, and what must be left alone.
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { sandboxRecord } from '../../../support/records.ts';
import { api, forever, roomy, type World, world } from '../../../support/servers/control.ts';

const put = async (w: World, facts: Parameters<typeof sandboxRecord>[0]) => {
  const row = sandboxRecord(facts);
  await w.store.sandboxes.reserve({ sandbox: row, limits: { max_sandboxes: 0 }, events: [] });
  return row.id;
};
const spawn = async (w: World) => (await w.control.sandboxes.spawn({}, api, {}, forever)).id;
const end = async (w: World, id: string) => {
  const row = await w.store.sandboxes.get(id);
  return `${row?.state} ${row?.end_reason ?? ''}`.trim();
};
const actions = async (w: World) =>
  (await w.events()).filter(({ type }) => type === 'reconcile.action').map(({ data }) => data?.action);

describe('a restart', () => {
  it('settles rows of every state, with and without a runtime', async () => {
    const w = world();
    const ids: Record<string, string> = {};
    for (const state of ['creating', 'running', 'unhealthy', 'destroying'] as const)
      for (const there of ['there', 'gone'] as const) {
        const id = await put(w, { state, ...(state === 'destroying' && { end_reason: 'expired' }) });
        ids[`${state} ${there}`] = id;
        if (there === 'there') w.fake.plant(id);
      }
    await w.restart();
    await w.clock.advance(1000);
    const after = Object.fromEntries(
      await Promise.all(Object.entries(ids).map(async ([name, id]) => [name, await end(w, id)])),
    );
    expect(after).toEqual({
      'creating there': 'error spawn_failed',
      'creating gone': 'error spawn_failed',
      'running there': 'running',
      'running gone': 'destroyed runtime_lost',
      'unhealthy there': 'running',
      'unhealthy gone': 'destroyed runtime_lost',
      'destroying there': 'destroyed expired',
      'destroying gone': 'destroyed expired',
    });
    expect([...w.fake.runtimes.values()].map(({ id }) => id).sort()).toEqual(
      [ids['running there'], ids['unhealthy there']].sort(),
    );
    expect(await actions(w)).toEqual([
      ...['end_unfinished_spawn', 'end_unfinished_spawn'],
      ...['end_lost_runtime', 'end_lost_runtime'],
    ]);
  });

  it('keeps every acknowledged sandbox answering', async () => {
    const w = world();
    const ids = [];
    for (let i = 0; i < 20; i++) ids.push(await spawn(w));
    for (const id of ids) w.fake.of(id).programs.set('x', async () => ({}));
    await w.restart();
    for (const id of ids)
      expect(await w.control.exec.run(id, { command: 'x' }, api, forever, roomy)).toMatchObject({
        exit_code: 0,
      });
    expect(w.fake.made).toHaveLength(20);
  });

  it('removes runtimes without a row, also young ones and those of another epoch', async () => {
    const w = world();
    const id = await spawn(w);
    w.fake.plant('sb-nobody');
    w.fake.plant(id, 2);
    const ended = await spawn(w);
    await w.control.sandboxes.destroy(ended, api);
    w.fake.plant(ended);
    await w.restart();
    expect([...w.fake.runtimes.values()]).toMatchObject([{ id, epoch: 1 }]);
    expect(await actions(w)).toEqual(['destroy_orphan', 'destroy_orphan', 'destroy_orphan']);
    const last = (await w.events()).filter(({ sandbox_id }) => sandbox_id === ended).at(-1);
    expect(last?.type).toBe('sandbox.destroyed');
  });

  it('retries the end of an unfinished spawn until its runtime is gone', async () => {
    const w = world();
    const id = await put(w, {});
    w.fake.plant(id);
    w.provider.decide = (operation, call) => (operation === 'destroy' && call < 3 ? 'fail' : undefined);
    await w.restart();
    expect(await end(w, id)).toBe('destroying spawn_failed');
    await w.clock.advance(5000);
    expect(await end(w, id)).toBe('destroyed spawn_failed');
    expect(w.fake.runtimes.size).toBe(0);
  });
});

describe('every 30 s', () => {
  it('finds sandboxes that died unnoticed', async () => {
    const w = world();
    await w.control.start();
    const [killed, removed, well] = [await spawn(w), await spawn(w), await spawn(w)];
    w.fake.crash(killed);
    w.fake.runtimes.delete(w.fake.of(removed).runtime_id);
    await w.clock.advance(31_000);
    expect(await Promise.all([killed, removed, well].map((id) => end(w, id)))).toEqual([
      'destroyed runtime_lost',
      'destroyed runtime_lost',
      'running',
    ]);
    expect((await w.events()).filter(({ type }) => type === 'sandbox.error')).toHaveLength(2);
  });

  it('keeps young runtimes without a row for a minute', async () => {
    const w = world();
    await w.control.start();
    await w.clock.advance(25_000);
    w.fake.plant('sb-nobody');
    await w.clock.advance(40_000);
    expect(w.fake.runtimes.size).toBe(1);
    await w.clock.advance(60_000);
    expect(w.fake.runtimes.size).toBe(0);
  });

  it('removes a runtime without a row although its start lies in the future', async () => {
    const w = world();
    await w.control.start();
    w.fake.plant('sb-nobody').created_at = '2999-01-01T00:00:00.000Z';
    await w.clock.advance(130_000);
    expect(w.fake.runtimes.size).toBe(0);
  });

  it('skips a provider that is down: changes no row and destroys nothing', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w);
    w.provider.decide = (operation) => (operation === 'list' ? 'fail' : undefined);
    await w.clock.advance(120_000);
    expect(await end(w, id)).toBe('running');
    expect(w.provider.calls.list).toBeGreaterThan(3);
    expect(w.provider.calls.destroy).toBe(0);
  });

  it('does not trust an empty list alone', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w);
    w.provider.list = async () => [];
    await w.clock.advance(120_000);
    expect(await end(w, id)).toBe('running');
    expect(w.fake.runtimes.size).toBe(1);
  });

  it('leaves a spawn in progress alone, also a slow one', async () => {
    const w = world();
    await w.control.start();
    w.provider.decide = (operation) => (operation === 'create' ? 'late' : undefined);
    const spawned = w.control.sandboxes.spawn({ ttl: '1h' }, api, {}, forever);
    await w.clock.advance(0);
    await w.clock.advance(45_000);
    w.provider.release();
    expect(await spawned).toMatchObject({ state: 'running' });
    await w.clock.advance(60_000);
    expect(w.fake.runtimes.size).toBe(1);
  });

  it('keeps a sandbox whose spawn finishes during the comparison', async () => {
    for (let step = 0; step < 30; step++) {
      const w = world();
      await w.control.start();
      w.provider.decide = (operation) => (operation === 'create' ? 'late' : undefined);
      const spawned = spawn(w);
      await w.clock.advance(29_000);
      const { inStates } = w.store.sandboxes;
      w.store.sandboxes.inStates = async (...asked) => {
        const rows = await inStates(...asked);
        w.provider.release();
        for (let i = 0; i < step; i++) await undefined;
        return rows;
      };
      await w.clock.advance(2000);
      const id = await spawned;
      expect(await end(w, id)).toBe('running');
      expect(w.fake.runtimes.size).toBe(1);
    }
  });

  it('keeps a sandbox whose spawn finishes between two comparisons', async () => {
    const w = world();
    await w.control.start();
    w.provider.decide = (operation) => (operation === 'create' ? 'late' : undefined);
    const spawned = spawn(w);
    await w.clock.advance(29_000);
    const { get } = w.store.sandboxes;
    w.store.sandboxes.get = async (id) => {
      const row = await get(id);
      w.provider.release();
      await spawned;
      return row;
    };
    await w.clock.advance(2000);
    w.store.sandboxes.get = get;
    w.provider.release();
    expect(await end(w, await spawned)).toBe('running');
    expect(w.fake.runtimes.size).toBe(1);
  });
});

describe('a provider that was taken out of the configuration', () => {
  it('frees the capacity of rows that were ending, and keeps that of running ones', async () => {
    const w = world({ defaults: { max_sandboxes: 4 } });
    const of = { provider: 'container' } as const;
    const unconfirmed = await put(w, { ...of, state: 'destroying', end_reason: 'spawn_failed' });
    const unfinished = await put(w, { ...of, state: 'creating' });
    const running = await put(w, { ...of, state: 'running' });
    await w.restart();
    await w.clock.advance(0);
    expect(await Promise.all([unconfirmed, unfinished, running].map((id) => end(w, id)))).toEqual([
      'destroyed spawn_failed',
      'error spawn_failed',
      'running',
    ]);
    await w.control.sandboxes.destroy(running, api);
    expect(await end(w, running)).toBe('destroyed destroyed');
    const lines = w.logger.lines.map((line) => JSON.stringify(line));
    expect(lines.filter((line) => line.includes('"sandboxes":3'))).toHaveLength(1);
    for (const id of [unconfirmed, unfinished, running])
      expect(lines.filter((line) => line.includes(id) && line.includes('without its runtime'))).toHaveLength(
        1,
      );
  });
});

describe('a provider that does not answer', () => {
  const levelOf = async (w: World) => {
    await w.restart();
    await w.clock.advance(0);
    const line = w.logger.lines.find(({ message }) => message.startsWith('Provider does not answer'));
    expect(JSON.stringify(line)).not.toContain('stack');
    return line?.level;
  };
  const outage = new ServiceError('unavailable', 'The engine cannot be reached.');

  it('is logged as information while nothing uses it', async () => {
    const w = world({ providers: { default: 'container' } });
    w.provider.list = () => Promise.reject(outage);
    expect(await levelOf(w)).toBe('info');
  });

  it('is logged as a warning while sandboxes depend on it', async () => {
    const w = world({ providers: { default: 'container' } });
    await put(w, { state: 'running', provider: w.fake.kind });
    w.provider.list = () => Promise.reject(outage);
    expect(await levelOf(w)).toBe('warn');
  });

  it('is logged as a warning where it is the default', async () => {
    const w = world({ providers: { default: 'userspace' } });
    w.provider.list = () => Promise.reject(outage);
    expect(await levelOf(w)).toBe('warn');
  });
});
