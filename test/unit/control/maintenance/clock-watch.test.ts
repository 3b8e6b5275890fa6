// Lives while the wall clock is set: they are as long as they were asked to be, and every view says when they end by the
// clock as it now is.
import { describe, expect, it } from 'vitest';
import { api, forever, type World, world } from '../../../support/servers/control.ts';

const HOUR = 3_600_000;
/** Longer than between two looks. */
const LOOK = 6000;

const spawn = async (w: World, ttl: string) =>
  (await w.control.sandboxes.spawn({ ttl }, api, {}, forever)).id;
const leftMs = async (w: World, id: string) =>
  Date.parse((await w.control.sandboxes.get(id, api)).expires_at) - w.clock.now();
const lives = (w: World) => w.fake.runtimes.size;
const told = (w: World) =>
  w.logger.lines.filter(({ message }) => message.startsWith('The wall clock was set'));
/** To `ms`, and what is due then. */
const advance = async (w: World, ms: number) => {
  await w.clock.advance(ms);
  await w.clock.advance(0);
};

describe.each([2 * HOUR, -2 * HOUR])('a wall clock that is set by %i ms', (by) => {
  it('ends no sandbox early or late', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w, '1h');
    await advance(w, HOUR / 2);
    w.clock.jump(by);
    await advance(w, LOOK);
    expect(await leftMs(w, id)).toBe(HOUR / 2 - LOOK);
    expect(told(w)).toMatchObject([{ level: 'warn', fields: { step_ms: by, moved: { sandboxes: 1 } } }]);
    await advance(w, HOUR / 2 - LOOK - 1);
    expect(lives(w)).toBe(1);
    await advance(w, 1);
    expect(lives(w)).toBe(0);
  });

  it('changes nothing before it is noticed, for existing and for new sandboxes', async () => {
    const w = world();
    await w.control.start();
    await spawn(w, '1h');
    w.clock.jump(by);
    // The reaper looks with each spawn.
    const id = await spawn(w, '30m');
    expect(await w.control.sandboxes.prune(api)).toBe(0);
    expect(lives(w)).toBe(2);
    await advance(w, LOOK);
    expect(await leftMs(w, id)).toBe(HOUR / 2 - LOOK);
    await advance(w, HOUR / 2 - LOOK);
    expect(lives(w)).toBe(1);
  });

  it('keeps the length of extensions', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w, '10m');
    w.clock.jump(by);
    await w.control.sandboxes.extend(id, { ttl: '1h' }, api);
    await advance(w, LOOK);
    expect(await leftMs(w, id)).toBe(HOUR - LOOK);
    await w.control.sandboxes.extend(id, { ttl: '1h' }, api);
    expect(await leftMs(w, id)).toBe(HOUR);
  });

  it('is noticed by the next server of this boot', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w, '1h');
    await w.control.stop();
    await w.clock.advance(HOUR / 4);
    w.clock.jump(by);
    await w.restart();
    expect(lives(w)).toBe(1);
    expect(await leftMs(w, id)).toBe((HOUR * 3) / 4);
    expect(told(w)).toHaveLength(1);
    await advance(w, (HOUR * 3) / 4);
    expect(lives(w)).toBe(0);
  });

  it('is trusted after another boot', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w, '3h');
    await w.control.stop();
    w.clock.jump(by);
    w.boot = { id: 'boot-2', elapsedMs: () => w.clock.monotonic() - 1000 };
    await w.restart();
    expect(await leftMs(w, id)).toBe(3 * HOUR - by);
    expect(told(w)).toEqual([]);
    expect(await w.store.clock.mark()).toMatchObject({ boot_id: 'boot-2' });
  });

  it('is recorded once although the answer of the store is lost', async () => {
    const w = world();
    const { set } = w.store.clock;
    await w.control.start();
    const id = await spawn(w, '1h');
    w.clock.jump(by);
    w.store.clock.set = async (...args) => {
      await set(...args);
      w.store.clock.set = set;
      throw new Error('lost');
    };
    await advance(w, LOOK);
    await advance(w, LOOK);
    expect(await leftMs(w, id)).toBe(HOUR - 2 * LOOK);
  });
});

describe('a wall clock that is slewed', () => {
  it('is followed continuously, and no start treats it as a step', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w, '2h');
    for (let n = 0; n < 60; n++) {
      w.clock.jump(100);
      await advance(w, LOOK);
    }
    expect(await leftMs(w, id)).toBe(2 * HOUR - 60 * (LOOK + 100));
    await w.control.stop();
    await w.restart();
    expect(told(w)).toEqual([]);
    expect(await leftMs(w, id)).toBe(2 * HOUR - 60 * (LOOK + 100));
  });
});

it('an unchanged clock is recorded once', async () => {
  const w = world();
  const { set } = w.store.clock;
  let writes = 0;
  w.store.clock.set = (...args) => {
    writes++;
    return set(...args);
  };
  await w.control.start();
  await w.clock.advance(HOUR);
  expect(writes).toBe(1);
});
