// The contract of stores: idempotency keys.
import { expect, it } from 'vitest';
import { NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const CLAIM = { scope: 'alice', key: 'k1', fingerprint: 'f1' };

export function idempotent({ store, change }: Given): void {
  const reserve = (record = sandboxRecord(), claim: Partial<typeof CLAIM> = {}) =>
    store().sandboxes.reserve({ sandbox: record, limits: NO_CAP, events: [], claim: { ...CLAIM, ...claim } });

  it('replays first without an answer, then with it, even after the row was purged', async () => {
    const row = sandboxRecord();
    const find = (key = 'k1') => store().idempotency.find({ ...CLAIM, key });
    expect(await find()).toBeUndefined();
    await reserve(row);
    const replay = { kind: 'replay', sandbox_id: row.id, fingerprint: 'f1' };
    expect(await reserve(sandboxRecord(), { fingerprint: 'f2' })).toEqual(replay);
    expect(await find()).toEqual(replay);
    expect(await find('k2')).toBeUndefined();
    await change(row, { state: 'running' }, { response: '{"id":1}' });
    expect(await reserve()).toEqual({ ...replay, response: '{"id":1}' });
    await change({ ...row, state: 'running' }, { state: 'destroyed', ended_at: stamp(1) });
    await store().sandboxes.purgeEnded(stamp(2));
    expect(await reserve()).toEqual({ ...replay, response: '{"id":1}' });
    expect(await find()).toEqual({ ...replay, response: '{"id":1}' });
    expect(await store().sandboxes.list({ limit: 10 })).toEqual([]);
  });

  it('distinguishes scopes and keys, and replays even when the cap is reached', async () => {
    const row = sandboxRecord();
    await reserve(row);
    expect(await reserve(sandboxRecord(), { scope: 'bob' })).toMatchObject({ kind: 'reserved' });
    expect(await reserve(sandboxRecord(), { key: 'k2' })).toMatchObject({ kind: 'reserved' });
    const replay = await store().sandboxes.reserve({
      sandbox: sandboxRecord(),
      limits: { ...NO_CAP, max_sandboxes: 1 },
      events: [],
      claim: CLAIM,
    });
    expect(replay).toMatchObject({ kind: 'replay', sandbox_id: row.id });
  });

  it('forgets the key with a failed spawn', async () => {
    const row = sandboxRecord();
    await reserve(row);
    await change(row, { state: 'error' });
    const next = sandboxRecord();
    expect(await reserve(next)).toMatchObject({ kind: 'reserved' });
    await change(next, { state: 'running' }, { response: '{}' });
    await change({ ...next, state: 'running' }, { state: 'error' }, { response: '{}' });
    expect(await reserve()).toMatchObject({ kind: 'reserved' });
  });

  it('ignores a claim whose row ended without an answer', async () => {
    const row = sandboxRecord();
    await reserve(row);
    await change(row, { state: 'destroying' });
    expect(await reserve()).toMatchObject({ kind: 'replay' });
    await change({ ...row, state: 'destroying' }, { state: 'destroyed', ended_at: stamp(1) });
    const next = sandboxRecord();
    expect(await reserve(next)).toMatchObject({ kind: 'reserved' });
    expect(await reserve()).toMatchObject({ kind: 'replay', sandbox_id: next.id });
  });

  it('ignores a claim without an answer whose row was deleted', async () => {
    const row = sandboxRecord();
    await reserve(row);
    await change(row, { state: 'destroyed', ended_at: stamp(1) });
    await store().sandboxes.purgeEnded(stamp(2));
    expect(await reserve()).toMatchObject({ kind: 'reserved' });
  });

  it('prunes the oldest claims of scopes that have many, and none of others', async () => {
    for (let n = 0; n < 20; n++)
      await reserve(sandboxRecord({ created_at: stamp(n) }), { scope: 'mallory', key: `k${n}` });
    await reserve(sandboxRecord({ created_at: stamp(0) }), { scope: 'ann', key: 'k' });
    expect(await store().idempotency.prune(stamp(0), 5)).toBe(16);
    expect(await reserve(sandboxRecord(), { scope: 'ann', key: 'k' })).toMatchObject({ kind: 'replay' });
    expect(await reserve(sandboxRecord(), { scope: 'mallory', key: 'k16' })).toMatchObject({
      kind: 'replay',
    });
    expect(await reserve(sandboxRecord(), { scope: 'mallory', key: 'k15' })).toMatchObject({
      kind: 'reserved',
    });
  });

  it('prunes claims made before the stamp', async () => {
    await reserve(sandboxRecord({ created_at: stamp(1) }), { key: 'old' });
    await reserve(sandboxRecord({ created_at: stamp(2) }), { key: 'new' });
    expect(await store().idempotency.prune(stamp(2))).toBe(1);
    expect(await reserve(sandboxRecord(), { key: 'old' })).toMatchObject({ kind: 'reserved' });
    expect(await reserve(sandboxRecord(), { key: 'new' })).toMatchObject({ kind: 'replay' });
  });
}
