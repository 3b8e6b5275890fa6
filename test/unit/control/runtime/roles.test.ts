// Who has a role: one process at a time, another one 4 s after its beats stood still, also when clocks run at other speeds.
import { expect, it } from 'vitest';
import { Replicas } from '../../../../src/control/runtime/replicas.ts';
import { Roles } from '../../../../src/control/runtime/roles.ts';
import type { Store } from '../../../../src/store/store.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { clockAtRate, replicaFacts } from '../../../support/fakes/replicas.ts';
import { memoryStore } from '../../../support/memory-store/store.ts';

type Parts = Pick<Store, 'replicas' | 'roles' | 'signals'>;

/** Processes over one store. `lines[n]` is the store as the n-th reaches it. */
async function processes(...rates: number[]) {
  const deps = fakeDeps();
  const store = memoryStore({ ...deps, isShared: true });
  const lines: Parts[] = rates.map(() => ({
    replicas: { ...store.replicas },
    roles: { ...store.roles },
    signals: store.signals,
  }));
  const all = rates.map((rate, n) => {
    const id = `r-${n}`;
    const given = { ...deps, clock: clockAtRate(deps.clock, rate), id };
    const line = lines[n] as Parts;
    const roles = new Roles({ ...given, store: line });
    const events: string[] = [];
    roles.watch('upkeep', { gained: () => events.push('gained'), lost: () => events.push('lost') });
    const self = () => replicaFacts(id);
    return { id, roles, events, replicas: new Replicas({ ...given, ...line, roles, self }) };
  });
  for (const { replicas } of all) await replicas.start();
  const holders = () => all.filter(({ roles }) => roles.holds('upkeep')).map(({ id }) => id);
  return { ...deps, store, lines, all, holders };
}

const noDatabase = async () => {
  throw new Error('no database');
};
const cut = (line: Parts) => {
  const { beat } = line.replicas;
  line.replicas.beat = noDatabase;
  return () => {
    line.replicas.beat = beat;
  };
};

it('gives every role to the first process at its start, and no other takes it while that one beats', async () => {
  const { clock, all, holders } = await processes(1, 1, 1);
  expect(
    all.map(({ roles }) => ['upkeep', 'desk', 'warm'].map((name) => roles.holds(name as 'desk'))),
  ).toEqual([
    [true, true, true],
    [false, false, false],
    [false, false, false],
  ]);
  for (let second = 0; second < 60; second++) {
    await clock.advance(1000);
    expect(holders()).toEqual(['r-0']);
  }
  expect(all[0]?.events).toEqual(['gained']);
});

it('stops acting 2.5 s after its last beat, and another one takes the role after 4 s', async () => {
  const { clock, lines, all, holders } = await processes(1, 1);
  cut(lines[0] as Parts);
  await clock.advance(2400);
  expect(holders()).toEqual(['r-0']);
  await clock.advance(200);
  expect(holders()).toEqual([]);
  expect(all[0]?.events).toEqual(['gained', 'lost']);
  await clock.advance(3500);
  expect(holders()).toEqual(['r-1']);
  expect(all[1]?.events).toEqual(['gained']);
});

it('keeps the role through an outage in which no beat reaches the store', async () => {
  const { clock, lines, holders } = await processes(1, 1);
  const back = lines.map(cut);
  await clock.advance(60_000);
  expect(holders()).toEqual([]);
  for (const each of back) each();
  for (let second = 0; second < 20; second++) {
    await clock.advance(1000);
    expect(holders()).toEqual(['r-0']);
  }
});

it('leaves a role that was taken meanwhile to its new holder', async () => {
  const { clock, lines, all, holders } = await processes(1, 1);
  const back = cut(lines[0] as Parts);
  await clock.advance(10_000);
  back();
  await clock.advance(10_000);
  expect(holders()).toEqual(['r-1']);
  expect(all[0]?.events).toEqual(['gained', 'lost']);
});

it('gives roles back when it stops, so that another one has them with its next beat', async () => {
  const { clock, all, holders } = await processes(1, 1);
  await all[0]?.roles.resign();
  expect(holders()).toEqual([]);
  await clock.advance(1000);
  expect(holders()).toEqual(['r-1']);
  await clock.advance(20_000);
  expect(all[0]?.events).toEqual(['gained', 'lost']);
});

it('passes roles on at once when their holder stops, to one that takes part in the beats', async () => {
  const { clock, all, holders } = await processes(1, 1, 1);
  await clock.advance(300);
  await all[0]?.roles.resign();
  await all[0]?.replicas.stop();
  await clock.advance(0);
  expect(holders()).toHaveLength(1);
  expect(holders()).not.toContain('r-0');
});

it('holds a role whose take was written without an answer, from its next beat on', async () => {
  const { clock, lines, all, holders } = await processes(1, 1);
  const [, line] = lines as [Parts, Parts];
  const { take } = line.roles;
  line.roles.take = async (...given) => {
    await take(...given);
    throw new Error('no answer');
  };
  await all[0]?.roles.resign();
  await clock.advance(1000);
  expect(holders()).toEqual([]);
  await clock.advance(1000);
  expect(holders()).toEqual(['r-1']);
});

it.each([
  [0.5, 1],
  [1, 0.5],
  [2, 1],
  [1, 2],
])('moves a role once when clocks run at %d and %d times real time', async (first, second) => {
  const { clock, lines, holders } = await processes(first, second);
  let double = 0;
  for (let step = 0; step < 600; step++) {
    await clock.advance(100);
    expect(holders()).toEqual(['r-0']);
  }
  cut(lines[0] as Parts);
  for (let step = 0; step < 150; step++) {
    await clock.advance(100);
    if (holders().length > 1) double++;
  }
  expect(holders()).toEqual(['r-1']);
  // A holder whose clock runs at half time believes for 5 s of others; a candidate at double time waits 2 s of others.
  expect(double).toBeLessThanOrEqual(first < second ? 30 : 0);
});

it('has every role where one process has the store for itself', async () => {
  const deps = fakeDeps();
  const store = memoryStore(deps);
  const roles = new Roles({ ...deps, store, id: 'r-a' });
  expect(roles.holds('desk')).toBe(true);
  const events: string[] = [];
  roles.watch('desk', { gained: () => events.push('gained'), lost: () => events.push('lost') });
  const replicas = new Replicas({
    ...{ ...store, ...deps, roles, id: 'r-a', self: () => replicaFacts('r-a') },
  });
  await replicas.start();
  expect(events).toEqual(['gained']);
  await deps.clock.advance(60_000);
  expect(roles.holds('desk')).toBe(true);
});
