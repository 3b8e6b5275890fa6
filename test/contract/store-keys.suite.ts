// The contract of stores: named keys.
import { expect, it } from 'vitest';
import type { KeyRecord } from '../../src/store/seam/keys.ts';
import { keyRecord, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const BOUNDS = { most: 100, most_of_owner: 10 };
const ROTATION = {
  ...{ hash: 'new', prefix: 'svc_wxyz', rotated_at: stamp(5) },
  ...{ previous_hash: 'old', previous_until: stamp(60), expires_at: null },
};

export function keys({ store }: Given): void {
  const create = async (facts: Partial<KeyRecord> = {}) => {
    const key = keyRecord(facts);
    expect(await store().keys.create(key, BOUNDS)).toBe('created');
    return key;
  };

  it('returns a stored key by its id and by its name', async () => {
    const bare = await create();
    const full = await create({
      ...{ owner_id: 'ann', scopes: ['read', 'use'], expires_at: stamp(60) },
      ...{ last_used_at: stamp(1), rotated_at: stamp(2), previous_hash: 'p', previous_until: stamp(3) },
    });
    expect(await store().keys.find(bare.id)).toEqual(bare);
    expect(await store().keys.find(full.name)).toEqual(full);
    expect(await store().keys.find('nobody')).toBeUndefined();
    expect((await store().keys.all()).map(({ id }) => id).sort()).toEqual([bare.id, full.id].sort());
  });

  it('refuses a second key of a name until the first is revoked', async () => {
    const first = await create({ name: 'ci' });
    expect(await store().keys.create(keyRecord({ name: 'ci' }), BOUNDS)).toBe('taken');
    await store().keys.revoke(first.id, { at: stamp(1), by: 'me', kept: 10 });
    expect(await store().keys.find('ci')).toMatchObject({ id: first.id, revoked_by: 'me' });
    const second = await create({ name: 'ci' });
    expect(await store().keys.find('ci')).toEqual(second);
  });

  it('bounds the keys that are not revoked, in all and of an owner', async () => {
    const bounds = { most: 3, most_of_owner: 1 };
    const anns = keyRecord({ owner_id: 'ann' });
    expect(await store().keys.create(anns, bounds)).toBe('created');
    expect(await store().keys.create(keyRecord({ owner_id: 'ann' }), bounds)).toBe('owner_full');
    expect(await store().keys.create(keyRecord(), bounds)).toBe('created');
    expect(await store().keys.create(keyRecord(), bounds)).toBe('created');
    expect(await store().keys.create(keyRecord(), bounds)).toBe('full');
    await store().keys.revoke(anns.id, { at: stamp(1), by: 'me', kept: 10 });
    expect(await store().keys.create(keyRecord({ owner_id: 'ann' }), bounds)).toBe('created');
  });

  it('rotates only from the hash that it has', async () => {
    const key = await create({ hash: 'old', expires_at: stamp(9) });
    expect(await store().keys.rotate(key.id, 'other', ROTATION)).toBeUndefined();
    const { expires_at: _, ...kept } = key;
    const { expires_at: __, ...values } = ROTATION;
    expect(await store().keys.rotate(key.id, 'old', ROTATION)).toEqual({ ...kept, ...values });
    expect(await store().keys.rotate(key.id, 'old', ROTATION)).toBeUndefined();
    const ended = { ...ROTATION, hash: 'third', previous_hash: null, previous_until: null };
    expect(await store().keys.rotate(key.id, 'new', ended)).not.toHaveProperty('previous_hash');
    await store().keys.revoke(key.id, { at: stamp(1), by: 'me', kept: 10 });
    expect(await store().keys.rotate(key.id, 'third', ROTATION)).toBeUndefined();
  });

  it('revokes once, and keeps the newest revoked keys', async () => {
    const rows = [await create(), await create(), await create()];
    for (const [at, { id }] of rows.entries())
      await store().keys.revoke(id, { at: stamp(at), by: 'me', kept: 2 });
    expect((await store().keys.all()).map(({ id }) => id).sort()).toEqual(
      rows
        .slice(1)
        .map(({ id }) => id)
        .sort(),
    );
    const again = await store().keys.revoke(rows[2]!.id, { at: stamp(9), by: 'you', kept: 2 });
    expect(again).toMatchObject({ revoked_at: stamp(2), revoked_by: 'me' });
    expect(await store().keys.revoke('key-nobody', { at: stamp(), by: 'me', kept: 2 })).toBeUndefined();
  });

  it('records the last use, which never moves back', async () => {
    const key = await create();
    const used = async () => (await store().keys.find(key.id))?.last_used_at;
    await store().keys.used([
      { id: key.id, at: stamp(2) },
      { id: 'key-nobody', at: stamp(2) },
    ]);
    expect(await used()).toBe(stamp(2));
    await store().keys.used([{ id: key.id, at: stamp(1) }]);
    expect(await used()).toBe(stamp(2));
  });

  it('counts every change but the last use', async () => {
    const counts: number[] = [];
    const step = async (change: () => Promise<unknown>) => {
      await change();
      counts.push(await store().keys.changes());
    };
    let key = keyRecord();
    await step(async () => {
      key = await create({ hash: 'old' });
    });
    await step(() => store().keys.rotate(key.id, 'old', ROTATION));
    await step(() => store().keys.used([{ id: key.id, at: stamp(2) }]));
    await step(() => store().keys.revoke(key.id, { at: stamp(1), by: 'me', kept: 10 }));
    await step(() => store().keys.revoke(key.id, { at: stamp(1), by: 'me', kept: 10 }));
    await step(() => store().keys.purge(stamp(9)));
    expect(counts).toEqual([1, 2, 2, 3, 3, 4]);
  });

  it('purges keys that were revoked or expired before a time', async () => {
    const kept = [await create(), await create({ expires_at: stamp(10) })];
    await create({ expires_at: stamp(3) });
    const revoked = await create();
    await store().keys.revoke(revoked.id, { at: stamp(4), by: 'me', kept: 10 });
    expect(await store().keys.purge(stamp(5))).toBe(2);
    expect((await store().keys.all()).map(({ id }) => id).sort()).toEqual(kept.map(({ id }) => id).sort());
  });

  it('lists newest first, page by page', async () => {
    const rows = [await create(), await create(), await create({ created_at: stamp(1) })];
    const ids = [rows[2]!.id, ...[rows[0]!.id, rows[1]!.id].sort().reverse()];
    expect((await store().keys.list(10)).map(({ id }) => id)).toEqual(ids);
    const [first] = await store().keys.list(1);
    expect((await store().keys.list(10, first)).map(({ id }) => id)).toEqual(ids.slice(1));
  });
}
