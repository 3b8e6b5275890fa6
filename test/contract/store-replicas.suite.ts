// Processes and roles of a store that several may share, and of one that a single process has for itself.
import { expect, it } from 'vitest';
import type { RoleRecord, SignsOfLife } from '../../src/store/seam/replicas.ts';
import type { Store } from '../../src/store/store.ts';
import { replicaFacts } from '../support/fakes/replicas.ts';

const beatOf = (store: Store, id: string) => store.replicas.beat(replicaFacts(id));
const roleIn = ({ roles }: SignsOfLife, name: string) =>
  roles.find((role) => role.name === name) as RoleRecord;
const beatsIn = ({ replicas }: SignsOfLife) =>
  Object.fromEntries(replicas.map(({ id, beats }) => [id, beats]));

export function alone(store: () => Store): void {
  it('says that this process has every role', async () => {
    const signs = await beatOf(store(), 'r-a');
    expect(store().replicas.isShared).toBe(false);
    expect(store().time).toBeUndefined();
    expect(signs.replicas).toMatchObject([replicaFacts('r-a')]);
    expect(signs.roles.map(({ name, holder }) => [name, holder])).toEqual([
      ['upkeep', 'r-a'],
      ['desk', 'r-a'],
      ['warm', 'r-a'],
    ]);
    await store().roles.release('r-a');
    await store().replicas.remove('r-a');
  });
}

export function sharing(store: () => Store): void {
  it('keeps the offset of the agreed time, stored by whoever has the role', async () => {
    const time = store().time!;
    const before = await time.read();
    expect(before).toEqual({
      database_ms: expect.any(Number),
      offset_ms: 0,
      stored_ms: 0,
      beats: expect.any(Number),
    });
    const stored = { offset_ms: -3_600_000.5, stored_ms: before.database_ms - 3_600_000.5 };
    await time.store(stored, 'r-a');
    expect(await time.read()).toMatchObject({ offset_ms: 0, stored_ms: 0 });
    await store().roles.take(roleIn(await beatOf(store(), 'r-a'), 'upkeep'), 'r-a');
    await time.store({ offset_ms: 5, stored_ms: 5 }, 'r-b');
    await time.store(stored, 'r-a');
    const after = await time.read();
    expect(after).toMatchObject(stored);
    expect(after.database_ms).toBeGreaterThanOrEqual(before.database_ms);
  });

  it('counts beats of each process, and forgets one that is removed', async () => {
    await beatOf(store(), 'r-a');
    const before = await store().time!.read();
    const signs = await beatOf(store(), 'r-b');
    expect((await store().time!.read()).beats).toBe(before.beats + 1);
    expect(signs.replicas).toHaveLength(2);
    expect(signs.replicas).toContainEqual({ ...replicaFacts('r-a'), beats: 1 });
    expect(beatsIn(await beatOf(store(), 'r-a'))).toEqual({ 'r-a': 2, 'r-b': 1 });
    await store().replicas.remove('r-b');
    await store().replicas.remove('r-b');
    expect(beatsIn(await beatOf(store(), 'r-a'))).toEqual({ 'r-a': 3 });
  });

  it('gives a role to one of many that saw it free, and counts the beats of its holder', async () => {
    const seen = roleIn(await beatOf(store(), 'r-a'), 'upkeep');
    expect(seen.holder).toBeUndefined();
    const takers = ['r-a', 'r-b', 'r-c', 'r-d'];
    const taken = await Promise.all(takers.map((taker) => store().roles.take(seen, taker)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    const holder = takers[taken.indexOf(true)] as string;
    const before = roleIn(await beatOf(store(), 'r-x'), 'upkeep');
    expect(before).toMatchObject({ holder });
    const after = roleIn(await beatOf(store(), holder), 'upkeep');
    expect(after).toEqual({ ...before, beats: before.beats + 1 });
    expect(roleIn(await beatOf(store(), 'r-x'), 'upkeep')).toEqual(after);
    expect(roleIn(await beatOf(store(), holder), 'desk').holder).toBeUndefined();
  });

  it('leaves a role whose holder beat after it was seen', async () => {
    await store().roles.take(roleIn(await beatOf(store(), 'r-a'), 'desk'), 'r-a');
    const seen = roleIn(await beatOf(store(), 'r-b'), 'desk');
    await beatOf(store(), 'r-a');
    expect(await store().roles.take(seen, 'r-b')).toBe(false);
    expect(await store().roles.take(roleIn(await beatOf(store(), 'r-b'), 'desk'), 'r-b')).toBe(true);
    expect(roleIn(await beatOf(store(), 'r-a'), 'desk').holder).toBe('r-b');
  });

  it('gives back the roles of one process alone', async () => {
    const signs = await beatOf(store(), 'r-a');
    await store().roles.take(roleIn(signs, 'desk'), 'r-a');
    await store().roles.take(roleIn(signs, 'warm'), 'r-b');
    await store().roles.release('r-a');
    await store().roles.release('r-a');
    const after = await beatOf(store(), 'r-a');
    expect([roleIn(after, 'desk').holder, roleIn(after, 'warm').holder]).toEqual([undefined, 'r-b']);
  });
}
