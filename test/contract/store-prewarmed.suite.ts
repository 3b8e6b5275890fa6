// The contract of stores: warm sandboxes, which are no sandboxes until one is taken.
import { expect, it } from 'vitest';
import type { PrewarmedRecord } from '../../src/store/seam/prewarmed.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp, warmRecord } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const CLAIM = { scope: 'alice', key: 'k1', fingerprint: 'f1' };

export function warm({ store, put }: Given): void {
  const ready = async (facts: Partial<PrewarmedRecord> = {}) => {
    const record = warmRecord(facts);
    await store().warm.reserve(record, NO_CAP);
    const made = { ...record, state: 'ready' as const, runtime_id: 'r1', image: 'real', warnings: ['w'] };
    expect(await store().warm.ready(made)).toBe(true);
    return made;
  };
  const take = (warmed: PrewarmedRecord, limits = NO_CAP, claim?: typeof CLAIM) => {
    const { id, epoch, runtime_id = '' } = warmed;
    const row = sandboxRecord({ id, epoch, runtime_id, state: 'running', owner_id: 'alice' });
    return store().sandboxes.reserve({
      sandbox: row,
      limits,
      events: [eventDraft()],
      claim,
      warm: { response: '{"id":1}' },
    });
  };

  it('keeps what is starting and what is ready, oldest first, and out of sight', async () => {
    const second = await ready({ created_at: stamp(2) });
    const first = warmRecord({ created_at: stamp(1) });
    expect(await store().warm.reserve(first, NO_CAP)).toBe(true);
    expect(await store().warm.all()).toEqual([first, second]);
    expect(await store().warm.get(second.id)).toEqual(second);
    expect(await store().warm.ready({ ...first, id: 'sb-nobody' })).toBe(false);
    expect(await store().warm.ready(second)).toBe(false);
    expect(await store().sandboxes.list({ limit: 10, include_ended: true })).toEqual([]);
    expect(await store().sandboxes.countActive()).toEqual({ total: 0, by_provider: {} });
    expect(await store().sandboxes.nextDeadline()).toBeUndefined();
    await store().warm.remove(first.id);
    await store().warm.remove(first.id);
    expect(await store().warm.get(first.id)).toBeUndefined();
  });

  it('has room only beside sandboxes, in all and of its provider; sandboxes do not mind it', async () => {
    await put();
    await put({ provider: 'other' });
    const reserve = (limits: object, facts = {}) =>
      store().warm.reserve(warmRecord(facts), { ...NO_CAP, ...limits });
    expect(await reserve({ max_sandboxes: 2 })).toBe(false);
    expect(await reserve({ max_provider_sandboxes: 1 })).toBe(false);
    expect(await reserve({ max_sandboxes: 3, max_provider_sandboxes: 2 })).toBe(true);
    expect(await reserve({ max_sandboxes: 3 })).toBe(false);
    expect(await reserve({ max_provider_sandboxes: 2 })).toBe(false);
    expect(await reserve({ max_provider_sandboxes: 1 }, { provider: 'third' })).toBe(true);
    const spawned = store().sandboxes.reserve({
      sandbox: sandboxRecord(),
      limits: { ...NO_CAP, max_sandboxes: 3 },
      events: [],
    });
    expect(await spawned).toMatchObject({ kind: 'reserved' });
  });

  it('becomes a sandbox in one step, with its answer under the key', async () => {
    const warmed = await ready();
    const taken = await take(warmed, NO_CAP, CLAIM);
    expect(taken).toMatchObject({ kind: 'reserved', sandbox: { id: warmed.id, state: 'running' } });
    expect(await store().warm.all()).toEqual([]);
    expect(await store().sandboxes.get(warmed.id)).toMatchObject({ owner_id: 'alice', runtime_id: 'r1' });
    expect((await store().sandboxes.countActive()).total).toBe(1);
    expect(await store().events.since(0, 10)).toHaveLength(1);
    expect(await take(await ready(), NO_CAP, CLAIM)).toMatchObject({ kind: 'replay', response: '{"id":1}' });
    expect(await store().warm.all()).toHaveLength(1);
  });

  it('is taken by one of many, only when it is ready, of that epoch, and there', async () => {
    const warmed = await ready();
    const rivals = await Promise.all(Array.from({ length: 20 }, () => take(warmed)));
    expect(rivals.filter(({ kind }) => kind === 'reserved')).toHaveLength(1);
    expect(rivals.filter(({ kind }) => kind === 'gone')).toHaveLength(19);
    const other = await ready();
    expect(await take({ ...other, epoch: 2 })).toEqual({ kind: 'gone' });
    const starting = warmRecord();
    await store().warm.reserve(starting, NO_CAP);
    expect(await take(starting)).toEqual({ kind: 'gone' });
    expect(await store().events.since(0, 10)).toHaveLength(1);
    expect(await store().warm.all()).toHaveLength(2);
  });

  it('is left alone by a spawn that is not admitted', async () => {
    await put();
    const warmed = await ready();
    expect(await take(warmed, { ...NO_CAP, max_sandboxes: 1 })).toMatchObject({ kind: 'denied' });
    expect(await store().warm.get(warmed.id)).toEqual(warmed);
  });
}
