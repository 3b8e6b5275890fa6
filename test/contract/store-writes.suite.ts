// The contract of stores: what changes rows of sandboxes.
import { expect, it } from 'vitest';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const CLAIM = { scope: 'alice', key: 'k1', fingerprint: 'f1' };

export function reserving({ store, put }: Given): void {
  it('stores the row and its events and gives both back', async () => {
    const record = sandboxRecord({ owner_id: 'alice', metadata: { a: 'b' }, env: { PATH: '/bin' } });
    const drafts = [
      eventDraft({ sandbox_id: record.id, owner_id: 'alice', data: { deep: { n: [1] } } }),
      eventDraft(),
    ];
    const made = await store().sandboxes.reserve(record, NO_CAP, drafts);
    expect(made).toEqual({
      kind: 'reserved',
      sandbox: record,
      events: drafts.map((draft) => ({ ...draft, id: expect.any(Number) })),
    });
    expect(await store().sandboxes.get(record.id)).toEqual(record);
    expect(await store().events.since(0, 10)).toEqual(made.kind === 'reserved' && made.events);
  });

  it('keeps warnings, given with the row or when it runs', async () => {
    const warnings = ['memory_mb is 64.', '"[\\u0000'];
    const given = await put({ warnings });
    expect((await store().sandboxes.get(given.id))?.warnings).toEqual(warnings);
    const { id, epoch } = await put({ state: 'creating' });
    expect(await store().sandboxes.get(id)).not.toHaveProperty('warnings');
    const change = { id, epoch, from: ['creating' as const], patch: { state: 'running' as const, warnings } };
    const moved = await store().sandboxes.transition({ ...change, events: [] });
    expect(moved?.sandbox.warnings).toEqual(warnings);
    expect((await store().sandboxes.list({ limit: 10 })).map((row) => row.warnings)).toEqual([
      warnings,
      warnings,
    ]);
  });

  it('keeps hostile keys and values as data', async () => {
    const metadata = Object.fromEntries([
      ['__proto__', 'x'],
      ['constructor', '{"a":1}'],
      ["$.a'; DROP TABLE sandboxes --", '\u0000"\\'],
    ]);
    const { id } = await put({ metadata, env: JSON.parse('{"__proto__":"polluted"}') });
    const row = await store().sandboxes.get(id);
    expect(Object.entries(row?.metadata ?? {})).toEqual(Object.entries(metadata));
    expect(Object.entries(row?.env ?? {})).toEqual([['__proto__', 'polluted']]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('refuses an id twice with conflict and changes nothing', async () => {
    const row = await put();
    const again = store().sandboxes.reserve({ ...row, image: 'other' }, NO_CAP, [eventDraft()]);
    await expect(again).rejects.toMatchObject({ name: 'ServiceError', code: 'conflict' });
    expect(await store().sandboxes.get(row.id)).toEqual(row);
    expect(await store().events.since(0, 10)).toEqual([]);
  });

  it('denies over the cap, writes nothing then, and counts only rows that have not ended', async () => {
    const first = await put();
    await put({ state: 'destroyed' });
    const denied = await store().sandboxes.reserve(
      sandboxRecord(),
      { ...NO_CAP, max_sandboxes: 1 },
      [eventDraft()],
      CLAIM,
    );
    expect(denied).toMatchObject({
      kind: 'denied',
      decision: { allowed: false, reason: 'max_sandboxes', active_sandboxes: 1 },
    });
    expect(await store().sandboxes.list({ limit: 10 })).toEqual([first]);
    expect(await store().events.since(0, 10)).toEqual([]);
    expect(
      await store().sandboxes.reserve(sandboxRecord(), { ...NO_CAP, max_sandboxes: 2 }, [], CLAIM),
    ).toMatchObject({
      kind: 'reserved',
    });
  });

  it('denies over the cap of a provider, counting its own rows alone', async () => {
    await put();
    await put({ provider: 'other' });
    const limits = { max_sandboxes: 0, max_provider_sandboxes: 1 };
    expect(await store().sandboxes.reserve(sandboxRecord(), limits, [])).toMatchObject({
      kind: 'denied',
      decision: { reason: 'worker_capacity', active_sandboxes: 2, active_provider_sandboxes: 1 },
    });
    expect(await store().sandboxes.reserve(sandboxRecord({ provider: 'third' }), limits, [])).toMatchObject({
      kind: 'reserved',
    });
  });

  it('counts for the cap of a provider only what is its own', async () => {
    const limits = { ...NO_CAP, max_provider_sandboxes: 1 };
    await put({ provider: 'other' });
    expect(await store().sandboxes.reserve(sandboxRecord(), limits, [])).toMatchObject({ kind: 'reserved' });
    expect(await store().sandboxes.reserve(sandboxRecord(), limits, [])).toMatchObject({
      kind: 'denied',
      decision: { reason: 'worker_capacity', active_sandboxes: 2, active_provider_sandboxes: 1 },
    });
  });

  it('admits exactly the cap of 200 at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 200 }, () =>
        store().sandboxes.reserve(sandboxRecord(), { ...NO_CAP, max_sandboxes: 10 }, []),
      ),
    );
    expect(made.filter(({ kind }) => kind === 'reserved')).toHaveLength(10);
    expect(made.filter(({ kind }) => kind === 'denied')).toHaveLength(190);
    expect(await store().sandboxes.countActive()).toEqual({ total: 10, by_provider: { userspace: 10 } });
  });

  it('reads a row as it is now, however often it was read before', async () => {
    const { id } = await put({ state: 'running', expires_at: stamp(10) });
    const { sandboxes } = store();
    const read = async () => {
      const [listed] = await sandboxes.list({ limit: 1, include_ended: true });
      const row = await sandboxes.get(id);
      expect(listed).toEqual(row);
      return row;
    };
    expect(await read()).toMatchObject({ state: 'running', expires_at: stamp(10) });
    await sandboxes.extend(id, ['running'], stamp(20));
    expect(await read()).toMatchObject({ expires_at: stamp(20) });
    const patch = { state: 'destroyed', ended_at: stamp(1) } as const;
    await sandboxes.transition({ id, from: ['running'], epoch: 1, patch, events: [] });
    expect(await read()).toMatchObject({ state: 'destroyed' });
    await sandboxes.purgeEnded(stamp(2));
    expect(await read()).toBeUndefined();
  });

  it('keeps what was reserved, whatever becomes of the record or of what is given out', async () => {
    const metadata = { a: '1' };
    const record = sandboxRecord({ metadata });
    await store().sandboxes.reserve(record, NO_CAP, []);
    metadata.a = '2';
    const row = await store().sandboxes.get(record.id);
    expect(row?.metadata).toEqual({ a: '1' });
    // Refused where what is given out is what is kept.
    Reflect.set(row!.metadata, 'a', '3');
    expect((await store().sandboxes.get(record.id))?.metadata).toEqual({ a: '1' });
  });
}

export function transitioning({ store, put, change }: Given): void {
  it('patches what it names, leaves the rest, and stores events', async () => {
    const row = await put();
    const patch = {
      state: 'running',
      runtime_id: 'r1',
      image: 'real',
      memory_mb: 64,
      vcpus: 2,
      epoch: 2,
    } as const;
    const event = eventDraft({ type: 'sandbox.running', sandbox_id: row.id });
    const moved = await change(row, patch, { events: [event] });
    expect(moved).toEqual({ sandbox: { ...row, ...patch }, events: [{ ...event, id: expect.any(Number) }] });
    expect(await store().sandboxes.get(row.id)).toEqual({ ...row, ...patch });
  });

  it('keeps who spawned it and who ended it', async () => {
    const row = await put({ created_by: 'key:ci' });
    expect(await store().sandboxes.get(row.id)).toMatchObject({ created_by: 'key:ci' });
    const end = { state: 'destroying', end_reason: 'destroyed', ended_by: 'key:ops' } as const;
    expect((await change(row, end))?.sandbox).toEqual({ ...row, ...end });
    await change({ ...row, ...end }, { state: 'destroyed', ended_at: stamp(1) });
    expect(await store().sandboxes.list({ include_ended: true, limit: 1 })).toMatchObject([
      { created_by: 'key:ci', ended_by: 'key:ops' },
    ]);
  });

  it.each([
    ['another state', { from: ['running', 'unhealthy'] }],
    ['no state', { from: [] }],
    ['another epoch', { epoch: 2 }],
    ['an unknown id', { id: 'sb-nobody' }],
  ] as const)('writes nothing for %s', async (_, wrong) => {
    const row = await put();
    const more = {
      ...wrong,
      from: [...('from' in wrong ? wrong.from : [row.state])],
      events: [eventDraft()],
    };
    expect(await change(row, { state: 'error' }, more)).toBeUndefined();
    expect(await store().sandboxes.get(row.id)).toEqual(row);
    expect(await store().events.since(0, 10)).toEqual([]);
  });

  it('lets one of many rivals win', async () => {
    const row = await put();
    const rivals = Array.from({ length: 20 }, () => change(row, { state: 'destroying', epoch: 2 }));
    expect((await Promise.all(rivals)).filter(Boolean)).toHaveLength(1);
  });

  it('frees the place with the row’s end', async () => {
    const row = await put();
    const other = await put({ provider: 'other' });
    await change(row, { state: 'error', ended_at: stamp(1), end_reason: 'spawn_failed' });
    expect(await store().sandboxes.countActive()).toEqual({ total: 1, by_provider: { other: 1 } });
    await change(other, { state: 'destroying' });
    expect(await store().sandboxes.countActive()).toEqual({ total: 1, by_provider: { other: 1 } });
    expect(
      await store().sandboxes.reserve(sandboxRecord(), { ...NO_CAP, max_sandboxes: 2 }, []),
    ).toMatchObject({
      kind: 'reserved',
    });
  });
}

export function extending({ store, put }: Given): void {
  it('never brings the end nearer', async () => {
    const row = await put({ expires_at: stamp(100) });
    const extend = (to: string) => store().sandboxes.extend(row.id, ['creating', 'running'], to);
    expect(await extend(stamp(50))).toEqual(row);
    expect(await extend(stamp(150))).toEqual({ ...row, expires_at: stamp(150) });
    const exact = (to: string) => store().sandboxes.extend(row.id, ['creating', 'running'], to, true);
    expect(await exact(stamp(120))).toEqual({ ...row, expires_at: stamp(120) });
    expect(await exact(stamp(150))).toEqual({ ...row, expires_at: stamp(150) });
    expect((await store().sandboxes.get(row.id))?.expires_at).toBe(stamp(150));
  });

  it('leaves rows of other states and unknown ids alone', async () => {
    const row = await put({ state: 'destroying' });
    expect(await store().sandboxes.extend(row.id, ['running'], stamp(9999))).toBeUndefined();
    expect(await store().sandboxes.extend('sb-nobody', ['running'], stamp(9999))).toBeUndefined();
    expect(await store().sandboxes.get(row.id)).toEqual(row);
  });

  it('purges what ended before the stamp and nothing else', async () => {
    const kept = [
      await put({ state: 'running' }),
      await put({ state: 'destroyed', ended_at: stamp(10) }),
      await put({ state: 'destroying', ended_at: stamp(1) }),
    ];
    for (let i = 0; i < 2500; i++) await put({ state: i % 2 ? 'error' : 'destroyed', ended_at: stamp(9) });
    expect(await store().sandboxes.purgeEnded(stamp(10))).toBe(2500);
    const left = await store().sandboxes.list({ limit: 5000, include_ended: true });
    expect(left.map(({ id }) => id).sort()).toEqual(kept.map(({ id }) => id).sort());
    expect((await store().sandboxes.countActive()).total).toBe(2);
  });

  it('keeps those that ended last of owners with many, and all of owners with few', async () => {
    const ended = (owner_id: string | undefined, at: number) =>
      put({ state: 'destroyed', ended_at: stamp(at), ...(owner_id !== undefined && { owner_id }) });
    const kept = [
      await ended('ann', 1),
      await ended(undefined, 1),
      await put({ state: 'running', owner_id: 'mallory' }),
    ];
    for (let i = 0; i < 1500; i++) await ended('mallory', 2);
    kept.push(await ended('mallory', 3));
    expect(await store().sandboxes.purgeEnded(stamp(0), 2000)).toBe(0);
    expect(await store().sandboxes.purgeEnded(stamp(0), 3)).toBe(1500);
    const left = await store().sandboxes.list({ limit: 5000, include_ended: true });
    expect(left.map(({ id }) => id).sort()).toEqual(kept.map(({ id }) => id).sort());
  });
}
