// Named keys: made, shown, rotated, revoked, and found by their text for exactly as long as they are valid.
import { describe, expect, it, vi } from 'vitest';
import { KeyRing } from '../../../../src/control/keys/key-ring.ts';
import { keyDigest } from '../../../../src/domain/access.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { memoryKeys } from '../../../support/memory-store/keys.ts';
import { memorySessions } from '../../../support/memory-store/sessions.ts';
import { keyRecord, stamp } from '../../../support/records.ts';
import { admin, owned, world } from '../../../support/servers/control.ts';

const start = async () => {
  const w = world();
  await w.control.start();
  const found = (text: string) => w.control.namedKeys.find(keyDigest(text))?.name;
  const endOf = (text: string) => w.control.namedKeys.endOf(keyDigest(text));
  return { w, keys: w.control.keys, found, endOf };
};

describe('creation', () => {
  it('shows the key once and stores only its hash', async () => {
    const { w, keys, found } = await start();
    const made = await keys.create({ name: 'ci', owner_id: ' ann ', scopes: ['use', 'read'] }, admin);
    const { secret, ...shown } = made;
    expect(shown).toEqual({
      ...{ id: expect.stringMatching(/^key-/), name: 'ci', owner_id: 'ann', scopes: ['read', 'use'] },
      ...{ state: 'active', prefix: secret.slice(0, 8), created_by: admin.actor, created_at: stamp() },
    });
    expect(found(secret)).toBe('ci');
    expect(await keys.get('ci')).toEqual(shown);
    expect(await keys.get(made.id)).toEqual(shown);
    expect(JSON.stringify([await keys.list({}), await w.store.keys.all()])).not.toContain(secret);
    expect(JSON.stringify(await keys.list({}))).not.toContain('hash');
  });

  it.each([
    ['a name in use', { name: 'ci' }, 'conflict'],
    ['the form of an id', { name: 'key-abcdefghijkl' }, 'bad_request'],
    ['the form of a key', { name: `e2b_${'0a'.repeat(20)}` }, 'bad_request'],
    [
      'an owner with the admin scope',
      { name: 'x', owner_id: 'ann', scopes: ['admin' as const] },
      'bad_request',
    ],
    ['an invalid owner', { name: 'x', owner_id: 'a/b' }, 'bad_request'],
  ])('refuses %s', async (_what, request, code) => {
    const { keys } = await start();
    await keys.create({ name: 'ci' }, admin);
    await expect(keys.create(request, admin)).rejects.toMatchObject({ code });
  });

  it('bounds the keys of an owner', async () => {
    const { keys } = await start();
    for (let n = 0; n < 100; n++) await keys.create({ name: `k${n}`, owner_id: 'ann' }, admin);
    await expect(keys.create({ name: 'k', owner_id: 'ann' }, admin)).rejects.toMatchObject({
      code: 'resource_limit',
    });
    await keys.create({ name: 'k', owner_id: 'bob' }, admin);
  });

  it('creates keys of the E2B form', async () => {
    const { keys } = await start();
    const { secret } = await keys.create({ name: 'ci', format: 'e2b' }, admin);
    expect(secret).toMatch(/^e2b_[0-9a-f]{40}$/);
    expect((await keys.rotate('ci', {})).secret).toMatch(/^e2b_[0-9a-f]{40}$/);
  });

  it('makes a key that expires to the millisecond', async () => {
    const { w, keys, found, endOf } = await start();
    const { secret, expires_at } = await keys.create({ name: 'ci', ttl: '1h' }, admin);
    expect(expires_at).toBe(stamp(3600));
    await w.clock.advance(3_599_999);
    expect(found(secret)).toBe('ci');
    await w.clock.advance(1);
    expect([found(secret), endOf(secret)]).toEqual([undefined, 'expired']);
    expect(await keys.get('ci')).toMatchObject({ state: 'expired' });
    await expect(keys.rotate('ci', {})).rejects.toMatchObject({ code: 'conflict' });
    const renewed = await keys.rotate('ci', { ttl: '1h' });
    expect([found(renewed.secret), found(secret)]).toEqual(['ci', undefined]);
  });
});

describe('rotation', () => {
  it('keeps the previous key for the overlap', async () => {
    const { w, keys, found, endOf } = await start();
    const first = await keys.create({ name: 'ci' }, admin);
    const second = await keys.rotate('ci', { overlap: '2h' });
    expect(second).toMatchObject({ rotated_at: stamp(), previous_until: stamp(7200), id: first.id });
    expect([found(first.secret), found(second.secret)]).toEqual(['ci', 'ci']);
    await w.clock.advance(7_200_000);
    expect([found(first.secret), endOf(first.secret)]).toEqual([undefined, 'replaced']);
    expect(found(second.secret)).toBe('ci');
    expect(await keys.get('ci')).not.toHaveProperty('previous_until');
  });

  it('ends all earlier keys at once without an overlap', async () => {
    const { keys, found } = await start();
    const first = await keys.create({ name: 'ci' }, admin);
    const second = await keys.rotate('ci', {});
    const third = await keys.rotate('ci', { overlap: '0s' });
    expect([first, second, third].map(({ secret }) => found(secret))).toEqual([undefined, undefined, 'ci']);
  });

  it('is refused during an overlap, unless it replaces the new key', async () => {
    const { keys, found } = await start();
    const first = await keys.create({ name: 'ci' }, admin);
    await expect(keys.rotate('ci', { replace: true })).rejects.toMatchObject({ code: 'conflict' });
    const lost = await keys.rotate('ci', {});
    await expect(keys.rotate('ci', {})).rejects.toMatchObject({ code: 'conflict' });
    await expect(keys.rotate('ci', { replace: true, overlap: '1h' })).rejects.toMatchObject({
      code: 'bad_request',
    });
    const next = await keys.rotate('ci', { replace: true });
    expect([first, lost, next].map(({ secret }) => found(secret))).toEqual(['ci', undefined, 'ci']);
    expect(next.previous_until).toBe(lost.previous_until);
  });

  it('limits the overlap', async () => {
    const { keys } = await start();
    await keys.create({ name: 'ci' }, admin);
    await expect(keys.rotate('ci', { overlap: '721h' })).rejects.toMatchObject({ code: 'bad_request' });
  });
});

describe('revocation', () => {
  it('applies at once, and the key stays listed for 30 days', async () => {
    const { w, keys, found, endOf } = await start();
    const first = await keys.create({ name: 'ci' }, admin);
    const { secret } = await keys.rotate('ci', {});
    expect(await keys.revoke('ci', admin)).toMatchObject({ state: 'revoked', revoked_by: admin.actor });
    expect([first.secret, secret].map(found)).toEqual([undefined, undefined]);
    expect([first.secret, secret].map(endOf)).toEqual(['revoked', 'revoked']);
    await expect(keys.rotate('ci', {})).rejects.toMatchObject({ code: 'conflict' });
    expect(await keys.revoke('ci', owned('bob'))).toMatchObject({ revoked_by: admin.actor });
    await keys.create({ name: 'ci' }, admin);
    expect((await keys.list({})).keys.map(({ state }) => state).sort()).toEqual(['active', 'revoked']);
    const { keys: page, next_cursor } = await keys.list({ limit: 1 });
    expect(page).toHaveLength(1);
    expect((await keys.list({ cursor: next_cursor! })).keys).toHaveLength(1);
    await w.store.keys.purge(stamp(1));
    expect((await keys.list({})).keys).toHaveLength(1);
    await expect(keys.revoke('nobody', admin)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('the ring', () => {
  const ring = async (areSeveral = true) => {
    const deps = fakeDeps();
    const store = memoryKeys();
    const made = new KeyRing({
      keys: store,
      sessions: memorySessions(store.changed),
      replicas: { areSeveral },
      clock: deps.clock,
      logger: deps.logger,
    });
    await made.start();
    return { deps, store, ring: made };
  };
  const BOUNDS = { most: 10, most_of_owner: 10 };
  const digest = Buffer.from('ab'.repeat(32), 'hex');
  const hash = digest.toString('hex');

  it('sees a change of another process within 2 s', async () => {
    const { deps, store, ring: keys } = await ring();
    const key = keyRecord({ hash });
    await store.create(key, BOUNDS);
    expect(keys.find(digest)).toBeUndefined();
    await deps.clock.advance(1000);
    expect(keys.find(digest)).toMatchObject({ id: key.id });
    let ended = 0;
    keys.watch(() => {
      ended += 1;
    });
    const { version } = keys;
    await store.revoke(key.id, { at: stamp(), by: 'x', kept: 9 });
    await deps.clock.advance(1000);
    expect([keys.find(digest), keys.endOf(digest), ended]).toEqual([undefined, 'revoked', 1]);
    expect(keys.version).toBeGreaterThan(version);
    await deps.clock.advance(10_000);
    expect(ended).toBe(1);
  });

  it('knows what another process made when it is asked, and reads ten times a second at most', async () => {
    const { deps, store, ring: keys } = await ring();
    const changes = vi.spyOn(store, 'changes');
    await deps.clock.advance(500);
    const key = keyRecord({ hash });
    await store.create(key, BOUNDS);
    await keys.refresh();
    expect(keys.find(digest)).toMatchObject({ id: key.id });
    expect(changes).toHaveBeenCalledTimes(1);
    // Whatever is made while a reading runs is in the next one.
    const many = Array.from({ length: 50 }, () => keys.refresh());
    const other = keyRecord({ id: 'key-other0000000', name: 'other', hash: 'cd'.repeat(32) });
    await store.create(other, BOUNDS);
    await deps.clock.advance(100);
    await Promise.all(many);
    expect(keys.find(Buffer.from(other.hash, 'hex'))).toMatchObject({ id: other.id });
    expect(changes).toHaveBeenCalledTimes(2);
  });

  it('gives up a reading that the store does not answer', async () => {
    const { deps, store, ring: keys } = await ring();
    await deps.clock.advance(500);
    vi.spyOn(store, 'changes').mockReturnValue(new Promise(() => {}));
    const refreshed = keys.refresh();
    await deps.clock.advance(2000);
    await refreshed;
  });

  it('calls its listeners when a key expires', async () => {
    const { deps, store, ring: keys } = await ring();
    await store.create(keyRecord({ hash, expires_at: stamp(5) }), BOUNDS);
    await deps.clock.advance(1000);
    let ended = 0;
    keys.watch(() => {
      ended += 1;
    });
    await deps.clock.advance(3000);
    expect(ended).toBe(0);
    await deps.clock.advance(2000);
    expect(ended).toBe(1);
  });

  it('stores the last use once a minute, and at the end', async () => {
    const { deps, store, ring: keys } = await ring();
    const key = keyRecord({ hash });
    await store.create(key, BOUNDS);
    await deps.clock.advance(1000);
    const stored = async () => (await store.find(key.id))?.last_used_at;
    keys.used(key.id);
    expect(await stored()).toBeUndefined();
    await deps.clock.advance(30_000);
    keys.used(key.id);
    await deps.clock.advance(30_000);
    expect(await stored()).toBe(stamp(1));
    keys.used(key.id);
    await keys.stop();
    expect(await stored()).toBe(stamp(61));
  });

  it('keeps the last known keys while the store fails, and logs that once', async () => {
    const { deps, store, ring: keys } = await ring();
    await store.create(keyRecord({ hash }), BOUNDS);
    await deps.clock.advance(1000);
    const { changes } = store;
    store.changes = () => Promise.reject(new Error('lost'));
    await deps.clock.advance(5000);
    expect(keys.find(digest)).toBeDefined();
    expect(deps.logger.lines.filter(({ message }) => /named keys/.test(message))).toHaveLength(1);
    store.changes = changes;
    await keys.stop();
  });
});
