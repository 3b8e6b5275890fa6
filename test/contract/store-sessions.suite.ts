// The contract of stores: sessions of the console.
import { expect, it } from 'vitest';
import type { SessionRecord } from '../../src/store/seam/sessions.ts';
import { stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const session = (id: string, facts: Partial<SessionRecord> = {}): SessionRecord => ({
  ...{ id, hash: `hash of ${id}`, parent: 'key-aaaaaaaaaaaa', actor: 'key:ci', scopes: ['read', 'use'] },
  ...{ created_at: stamp(), expires_at: stamp(30), ends_at: stamp(600) },
  ...facts,
});

export function sessions({ store }: Given): void {
  const all = async () => (await store().sessions.all()).sort((a, b) => (a.id < b.id ? -1 : 1));

  it('keeps sessions, with and without an owner', async () => {
    const [mine, anns] = [session('ses-a'), session('ses-b', { owner_id: 'ann' })];
    await store().sessions.open(mine, []);
    await store().sessions.open(anns, ['ses-unknown']);
    expect(await all()).toEqual([mine, anns]);
  });

  it('opens the same session once, and removes ended ones with it', async () => {
    const [old, fresh] = [session('ses-a'), session('ses-b')];
    await store().sessions.open(old, []);
    await store().sessions.open(fresh, ['ses-a']);
    await store().sessions.open(session('ses-b', { actor: 'key:other' }), []);
    expect(await all()).toEqual([fresh]);
  });

  it('renews and ends sessions, and every change raises the counter of keys', async () => {
    const { keys, sessions } = store();
    let seen = await keys.changes();
    const grown = async () => {
      const before = seen;
      seen = await keys.changes();
      return seen > before;
    };
    await sessions.open(session('ses-a'), []);
    expect(await grown()).toBe(true);
    expect(await sessions.renew('ses-a', stamp(60))).toBe(true);
    expect([await grown(), await all()]).toEqual([true, [session('ses-a', { expires_at: stamp(60) })]]);
    expect([await sessions.renew('ses-b', stamp(60)), await grown()]).toEqual([false, false]);
    await sessions.end(['ses-a', 'ses-b']);
    expect([await grown(), await all()]).toEqual([true, []]);
  });

  it('gives what has not expired to the first who takes it', async () => {
    const { keys, sessions } = store();
    const take = (hash: string, at: number, as = 'taken') => sessions.take(hash, stamp(at), as);
    await sessions.open(session('code-a'), []);
    await sessions.open(session('code-b'), []);
    expect(await take('hash of code-a', 30)).toBeUndefined();
    expect(await take('hash of nothing', 0)).toBeUndefined();
    const before = await keys.changes();
    const taken = await Promise.all(['p', 'q', 'r', 's'].map((as) => take('hash of code-a', 29, as)));
    const [mine] = taken.filter((one) => one !== undefined);
    expect(taken.filter((one) => one !== undefined)).toHaveLength(1);
    expect(mine).toEqual(session('code-a', { hash: mine!.hash }));
    expect(await keys.changes()).toBeGreaterThan(before);
    expect(await take('hash of code-a', 29, mine!.hash)).toEqual(mine);
    expect(await all()).toEqual([mine, session('code-b')]);
  });
}
