// Which other control planes live: judged by beats, in this process's own time.
import { expect, it } from 'vitest';
import { Replicas } from '../../../../src/control/runtime/replicas.ts';
import { type FakeDeps, fakeDeps } from '../../../support/fakes/ports.ts';
import { memoryStore } from '../../../support/memory-store/store.ts';

/** One that beats once; `beat` has the other, `r-b`, go on. */
async function watching() {
  const deps: FakeDeps = fakeDeps();
  const { replicas } = memoryStore({ ...deps, isShared: true });
  if (!replicas) throw new Error('The store is not shared.');
  const store = { ...replicas };
  const own = new Replicas({ ...deps, replicas: store, id: 'r-a' });
  const beat = () => replicas.beat('r-b');
  await beat();
  await own.start();
  return { ...deps, store, own, beat, inner: replicas };
}

it('counts another as dead when its beats stood still for 10 s, and as alive when they go on', async () => {
  const { clock, own, beat } = await watching();
  await clock.advance(9000);
  expect(own.isAlive('r-b')).toBe(true);
  await beat();
  await clock.advance(9500);
  expect(own.isAlive('r-b')).toBe(true);
  await clock.advance(2000);
  expect(own.isAlive('r-b')).toBe(false);
  await beat();
  await clock.advance(1000);
  expect(own.isAlive('r-b')).toBe(true);
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
  store.beat = async (id) => {
    await new Promise<void>((resolve) => {
      thaw = resolve;
    });
    return inner.beat(id);
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
  expect((await inner.beat('r-a')).map(({ id }) => id)).toEqual(['r-a']);
});

it('signs off when it stops', async () => {
  const { own, inner } = await watching();
  await own.stop();
  expect((await inner.beat('r-b')).map(({ id }) => id)).toEqual(['r-b']);
});

it('knows nobody where one process has the store for itself', async () => {
  const own = new Replicas({ ...fakeDeps(), replicas: undefined, id: 'r-a' });
  await own.start();
  expect([own.areSeveral, own.isAlive('r-b'), own.isAlive(undefined)]).toEqual([false, false, false]);
  await own.stop();
});
