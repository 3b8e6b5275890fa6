// Which other control planes live: judged by beats, in this process's own time.
import { expect, it } from 'vitest';
import { Replicas } from '../../../../src/control/runtime/replicas.ts';
import { Roles } from '../../../../src/control/runtime/roles.ts';
import type { ReplicaStore } from '../../../../src/store/seam/replicas.ts';
import type { Store } from '../../../../src/store/store.ts';
import { type FakeDeps, fakeDeps } from '../../../support/fakes/ports.ts';
import { replicaFacts } from '../../../support/fakes/replicas.ts';
import { memoryStore } from '../../../support/memory-store/store.ts';

function replicasOn(deps: FakeDeps, store: Pick<Store, 'replicas' | 'roles' | 'signals'>): Replicas {
  const id = 'r-a';
  const roles = new Roles({ ...deps, store, id });
  return new Replicas({ ...store, ...deps, roles, id, self: () => replicaFacts(id) });
}

const idsIn = async (replicas: ReplicaStore, of: string) =>
  (await replicas.beat(replicaFacts(of))).replicas.map(({ id }) => id);

/** One that beats once; `beat` has the other, `r-b`, go on. */
async function watching() {
  const deps: FakeDeps = fakeDeps();
  const { replicas, roles, signals } = memoryStore({ ...deps, isShared: true });
  const store = { ...replicas };
  const own = replicasOn(deps, { replicas: store, roles, signals });
  const beat = () => replicas.beat(replicaFacts('r-b'));
  await beat();
  await own.start();
  return { ...deps, store, own, beat, inner: replicas };
}

it('counts another as dead when its beats stood still for 10 s, and as alive when they go on', async () => {
  const { clock, own, beat } = await watching();
  await clock.advance(9000);
  expect(own.isAlive('r-b')).toBe(true);
  expect(own.others).toMatchObject([{ id: 'r-b', url: 'http://r-b:7423' }]);
  await beat();
  await clock.advance(9500);
  expect(own.isAlive('r-b')).toBe(true);
  await clock.advance(2000);
  expect(own.isAlive('r-b')).toBe(false);
  expect(own.others).toEqual([]);
  await beat();
  await clock.advance(1000);
  expect(own.isAlive('r-b')).toBe(true);
});

it('counts another as dead also after its row was removed, and as alive when it returns', async () => {
  const { clock, own, beat } = await watching();
  for (let n = 0; n < 200; n++) {
    await clock.advance(1000);
    if (n >= 12) expect(own.isAlive('r-b')).toBe(false);
  }
  expect(own.others).toEqual([]);
  await beat();
  await clock.advance(1000);
  expect(own.isAlive('r-b')).toBe(true);
});

it('reports once another server that goes on, and not of one that has ended', async () => {
  const { clock, logger, beat } = await watching();
  const reported = () =>
    logger.lines.filter(({ level, message }) => level === 'info' && /Another server/.test(message));
  await clock.advance(5000);
  expect(reported()).toEqual([]);
  await beat();
  await clock.advance(1000);
  await beat();
  await clock.advance(1000);
  expect(reported()).toMatchObject([{ fields: { replica: 'r-b', url: 'http://r-b:7423' } }]);
});

it('counts no time in which the store does not answer, or in which it was frozen itself', async () => {
  const { clock, own, store, inner, beat } = await watching();
  await clock.advance(2000);
  store.beat = async () => {
    throw new Error('no database');
  };
  await clock.advance(60_000);
  expect(own.isAlive('r-b')).toBe(true);
  store.beat = inner.beat;
  let thaw = () => {};
  store.beat = async (self) => {
    await new Promise<void>((resolve) => {
      thaw = resolve;
    });
    return inner.beat(self);
  };
  await clock.advance(2000);
  store.beat = inner.beat;
  await clock.advance(60_000);
  thaw();
  await clock.advance(1000);
  expect(own.isAlive('r-b')).toBe(true);
  await beat();
  await clock.advance(12_000);
  expect(own.isAlive('r-b')).toBe(false);
});

it('gives one that it never saw 10 s, and forgets one that is silent for a minute', async () => {
  const { clock, own, inner } = await watching();
  expect(own.isAlive('r-c')).toBe(true);
  await clock.advance(12_000);
  expect(own.isAlive('r-c')).toBe(false);
  await clock.advance(60_000);
  expect(await idsIn(inner, 'r-a')).toEqual(['r-a']);
});

it('signs off when it stops', async () => {
  const { own, inner } = await watching();
  await own.stop();
  expect(await idsIn(inner, 'r-b')).toEqual(['r-b']);
});

it('knows nobody where one process has the store for itself, and sets no timer', async () => {
  const deps = fakeDeps();
  const own = replicasOn(deps, memoryStore(deps));
  await own.start();
  expect([own.areSeveral, own.isAlive('r-b'), own.isAlive(undefined)]).toEqual([false, false, false]);
  expect(deps.clock.pending()).toBe(0);
  await own.stop();
});
