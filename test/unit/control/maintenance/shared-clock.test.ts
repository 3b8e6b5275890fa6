// The time of several control planes: one time, even where the clocks of their machines are hours apart and that of the database
// is set.
import { expect, it } from 'vitest';
import { SharedClock } from '../../../../src/control/maintenance/shared-clock.ts';
import { steadyClock } from '../../../../src/domain/steady-clock.ts';
import type { TimeStore } from '../../../../src/store/seam/time.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { memoryStore } from '../../../support/memory-store/store.ts';

const HOUR = 3_600_000;

/** Machines whose clocks differ from real time by `skews`. The first has the role. */
async function machines(...skews: number[]) {
  const deps = fakeDeps();
  const { clock } = deps;
  const store = memoryStore({ ...deps, isShared: true });
  let databaseSkew = 0;
  let isAway = false;
  const time: TimeStore = {
    ...store.time!,
    read: async () => {
      if (isAway) throw new Error('no database');
      const read = await store.time!.read();
      return { ...read, database_ms: read.database_ms + databaseSkew };
    },
  };
  let holder = '';
  const beat = (id: string) =>
    store.replicas.beat({ id, url: '', version: '', config_print: '', started_at: '' });
  const give = async (id: string) => {
    await store.roles.release(holder);
    holder = id;
    const { roles } = await beat(id);
    await store.roles.take(roles.find(({ name }) => name === 'upkeep')!, id);
  };
  const add = async (skew: number, n: number) => {
    const lost = { pausedMs: 0, sleptMs: 0 };
    const id = `r-${n}`;
    const monotonic = () => clock.monotonic() - lost.pausedMs;
    const steady = steadyClock({ ...clock, now: () => clock.now() + skew, monotonic });
    const boot = { id: '', elapsedMs: () => monotonic() + lost.sleptMs };
    const roles = { holds: () => holder === id };
    const shared = new SharedClock({ ...deps, time, clock: steady, boot, roles, replica: id });
    await shared.start();
    return { shared, steady, lost, id };
  };
  await give('r-0');
  const all: Awaited<ReturnType<typeof add>>[] = [];
  for (const [n, skew] of skews.entries()) all.push(await add(skew, n));
  /** By how much each differs from real time. */
  const errors = () => all.map(({ steady }) => steady.now() - clock.now());
  const set = (ms: number) => {
    databaseSkew += ms;
  };
  const away = (is: boolean) => {
    isAway = is;
  };
  return { ...deps, store, all, errors, set, away, give, add, beat };
}

it('is one time where the clocks of the machines are an hour apart', async () => {
  const { clock, errors, all } = await machines(0, HOUR, -HOUR);
  expect(errors()).toEqual([0, 0, 0]);
  await clock.advance(60_000);
  expect(errors()).toEqual([0, 0, 0]);
  expect(all[1]!.shared.warnings()).toEqual([]);
});

it.each([HOUR, -HOUR, 4000])('goes on evenly when the clock of the database is set by %d ms', async (by) => {
  const { clock, errors, set, all, add, give } = await machines(0, HOUR, -HOUR);
  await clock.advance(10_500);
  set(by);
  const spread = () => Math.max(...errors()) - Math.min(...errors());
  for (let second = 0; second < 100; second++) {
    await clock.advance(1000);
    expect(spread(), `after ${second} s`).toBeLessThanOrEqual(40);
    if (second === 30) await give('r-1');
  }
  if (Math.abs(by) < 5000) return;
  // It approaches the clock of the database by a hundredth of the time that passes.
  expect(Math.abs(errors()[0]! - Math.sign(by) * 1000)).toBeLessThan(150);
  const side = by > 0 ? 'behind' : 'ahead of';
  expect(all[2]!.shared.warnings()[0]).toContain(`${side} the clock of the database`);
  const late = await add(2 * HOUR, 3);
  expect(Math.abs(late.steady.now() - all[0]!.steady.now())).toBeLessThanOrEqual(40);
});

it('is corrected in a process that stood still, and in no other', async () => {
  const { clock, all, errors, logger } = await machines(0, 0, 0);
  await clock.advance(5000);
  all[1]!.lost.pausedMs += HOUR;
  expect(errors()).toEqual([0, -HOUR, 0]);
  await clock.advance(1500);
  expect(errors()).toEqual([0, 0, 0]);
  expect(logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

it('counts the time in which the machine of the only process slept', async () => {
  const { clock, all, errors, set } = await machines(0);
  await clock.advance(5000);
  all[0]!.lost.sleptMs += HOUR;
  set(HOUR);
  await clock.advance(1500);
  expect(errors()).toEqual([HOUR]);
  expect(all[0]!.shared.warnings()).toEqual([]);
});

it('goes on evenly while the database is away, and does not start without it', async () => {
  const { clock, away, errors, add } = await machines(0, HOUR);
  away(true);
  await clock.advance(60_000);
  expect(errors()).toEqual([0, 0]);
  await expect(add(0, 2)).rejects.toThrow('no database');
});

it('waits at its start, after the clock of the database was set, for a process that lives and stores the new offset', async () => {
  const { clock, set, give, add, beat, errors } = await machines(0, HOUR);
  await clock.advance(5000);
  await give('r-dead');
  set(-2 * HOUR);
  const starting = add(-HOUR, 2);
  let late: Awaited<typeof starting> | undefined;
  void starting.then((one) => {
    late = one;
  });
  for (let second = 0; second < 6; second++) {
    await beat('r-1');
    await clock.advance(1000);
  }
  expect(late).toBeUndefined();
  await give('r-1');
  await clock.advance(3000);
  expect(Math.abs(late!.steady.now() - clock.now())).toBeLessThanOrEqual(100);
  expect(errors().every((error) => Math.abs(error) <= 100)).toBe(true);
});

it('does not start at an old time while another process lives and stores none', async () => {
  const { clock, set, give, add, beat } = await machines(0, HOUR);
  await clock.advance(5000);
  await give('r-dead');
  set(2 * HOUR);
  let refused: { code?: string } = {};
  void add(0, 2).catch((error: { code?: string }) => {
    refused = error;
  });
  for (let second = 0; second < 55; second++) {
    await beat('r-1');
    await clock.advance(1000);
  }
  expect(refused).toEqual({});
  for (let second = 0; second < 8; second++) {
    await beat('r-1');
    await clock.advance(1000);
  }
  expect(refused).toMatchObject({ code: 'unavailable' });
});

it('starts alone at a time that is not before the one that was stored last', async () => {
  const { clock, set, give, add } = await machines(0);
  await clock.advance(5000);
  await give('r-dead');
  await clock.advance(60_000);
  set(-2 * HOUR);
  const starting = add(0, 1);
  await clock.advance(5000);
  const { steady } = await starting;
  const error = steady.now() - clock.now();
  expect(error).toBeLessThanOrEqual(-60_000);
  expect(error).toBeGreaterThan(-70_000);
});
