// The contract of stores: what changes rows of sandboxes.
import { expect, it } from 'vitest';
import type { SandboxRecord } from '../../src/store/store.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const CLAIM = { scope: 'alice', key: 'k1', fingerprint: 'f1' };

export function reserving({ store, put }: Given): void {
  it('stores the row and its events and returns both', async () => {
    const record = sandboxRecord({ owner_id: 'alice', metadata: { a: 'b' }, env: { PATH: '/bin' } });
    const drafts = [
      eventDraft({ sandbox_id: record.id, owner_id: 'alice', data: { deep: { n: [1] } } }),
      eventDraft(),
    ];
    const made = await store().sandboxes.reserve({ sandbox: record, limits: NO_CAP, events: drafts });
    expect(made).toEqual({
      kind: 'reserved',
      sandbox: record,
      events: drafts,
    });
    expect(await store().sandboxes.get(record.id)).toEqual(record);
    const stored = drafts.map((draft) => ({ ...draft, id: expect.any(Number) }));
    expect(await store().events.since(0, 10)).toEqual(stored);
  });

  it('stores the digest of the image that runs, and none for other roots', async () => {
    const image_digest = `sha256:${'0'.repeat(64)}`;
    const { id, epoch } = await put();
    expect(await store().sandboxes.get(id)).not.toHaveProperty('image_digest');
    const patch = { state: 'running' as const, image_digest };
    const moved = await store().sandboxes.transition({ id, epoch, from: ['creating'], patch, events: [] });
    expect(moved?.sandbox.image_digest).toBe(image_digest);
    expect(await store().sandboxes.get(id)).toMatchObject({ image_digest });
  });

  it('stores warnings of the reservation and of the start', async () => {
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
    const again = store().sandboxes.reserve({
      sandbox: { ...row, image: 'other' },
      limits: NO_CAP,
      events: [eventDraft()],
    });
    await expect(again).rejects.toMatchObject({ name: 'ServiceError', code: 'conflict' });
    expect(await store().sandboxes.get(row.id)).toEqual(row);
    expect(await store().events.since(0, 10)).toEqual([]);
  });

  it('denies above the cap without writing, and counts only active rows', async () => {
    const first = await put();
    await put({ state: 'destroyed' });
    const denied = await store().sandboxes.reserve({
      sandbox: sandboxRecord(),
      limits: { ...NO_CAP, max_sandboxes: 1 },
      events: [eventDraft()],
      claim: CLAIM,
    });
    expect(denied).toMatchObject({
      kind: 'denied',
      decision: { allowed: false, reason: 'max_sandboxes', active_sandboxes: 1 },
    });
    expect(await store().sandboxes.list({ limit: 10 })).toEqual([first]);
    expect(await store().events.since(0, 10)).toEqual([]);
    expect(
      await store().sandboxes.reserve({
        sandbox: sandboxRecord(),
        limits: { ...NO_CAP, max_sandboxes: 2 },
        events: [],
        claim: CLAIM,
      }),
    ).toMatchObject({
      kind: 'reserved',
    });
  });

  it('denies over the cap of a provider, counting its own rows alone', async () => {
    await put();
    await put({ provider: 'other' });
    const limits = { max_sandboxes: 0, max_provider_sandboxes: 1 };
    expect(await store().sandboxes.reserve({ sandbox: sandboxRecord(), limits, events: [] })).toMatchObject({
      kind: 'denied',
      decision: { reason: 'worker_capacity', active_sandboxes: 2, active_provider_sandboxes: 1 },
    });
    expect(
      await store().sandboxes.reserve({ sandbox: sandboxRecord({ provider: 'third' }), limits, events: [] }),
    ).toMatchObject({
      kind: 'reserved',
    });
  });

  it('counts for the cap of a provider only its own sandboxes', async () => {
    const limits = { ...NO_CAP, max_provider_sandboxes: 1 };
    await put({ provider: 'other' });
    expect(await store().sandboxes.reserve({ sandbox: sandboxRecord(), limits, events: [] })).toMatchObject({
      kind: 'reserved',
    });
    expect(await store().sandboxes.reserve({ sandbox: sandboxRecord(), limits, events: [] })).toMatchObject({
      kind: 'denied',
      decision: { reason: 'worker_capacity', active_sandboxes: 2, active_provider_sandboxes: 1 },
    });
  });

  it('admits exactly the cap of 200 at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 200 }, () =>
        store().sandboxes.reserve({
          sandbox: sandboxRecord(),
          limits: { ...NO_CAP, max_sandboxes: 10 },
          events: [],
        }),
      ),
    );
    expect(made.filter(({ kind }) => kind === 'reserved')).toHaveLength(10);
    expect(made.filter(({ kind }) => kind === 'denied')).toHaveLength(190);
    expect(await store().sandboxes.countActive()).toEqual({ total: 10, by_provider: { userspace: 10 } });
  });

  it('gives orders at once an outcome each: admitted, denied, replayed or refused', async () => {
    await put({ owner_id: 'bob' });
    const present = await put();
    const limits = { ...NO_CAP, owner: { max_sandboxes: 3, maxTtlMs: 0, maxExecTimeoutMs: 0 } };
    const reserve = (record: Partial<SandboxRecord>, claim?: typeof CLAIM) => {
      const sandbox = sandboxRecord(record);
      return store().sandboxes.reserve({
        ...{ sandbox, limits, claim },
        events: [eventDraft({ sandbox_id: sandbox.id })],
      });
    };
    const made = await Promise.allSettled([
      ...Array.from({ length: 5 }, () => reserve({ owner_id: 'ann' })),
      reserve({ id: present.id }),
      ...Array.from({ length: 3 }, () => reserve({ owner_id: 'eve' }, CLAIM)),
      ...Array.from({ length: 3 }, () => reserve({ owner_id: 'bob' })),
      reserve({}),
    ]);
    const kinds = made.map((each) => (each.status === 'fulfilled' ? each.value.kind : each.reason.code));
    const times = (of: number, kind: string) => Array.from({ length: of }, () => kind);
    expect(kinds.slice(0, 5).sort()).toEqual([...times(2, 'denied'), ...times(3, 'reserved')]);
    expect(kinds[5]).toBe('conflict');
    expect(kinds.slice(6, 9).sort()).toEqual([...times(2, 'replay'), 'reserved']);
    expect(kinds.slice(9, 12).sort()).toEqual(['denied', ...times(2, 'reserved')]);
    expect(kinds[12]).toBe('reserved');
    const rows = await store().sandboxes.list({ limit: 100 });
    expect(rows.filter(({ owner_id }) => owner_id === 'ann')).toHaveLength(3);
    expect(rows).toHaveLength(9);
    expect(await store().events.since(0, 100)).toHaveLength(7);
    // The last place is not kept for one that fails.
    const last = (id?: string) =>
      store().sandboxes.reserve({
        sandbox: sandboxRecord(id === undefined ? {} : { id }),
        limits: { ...NO_CAP, max_sandboxes: 10 },
        events: [],
      });
    const both = await Promise.allSettled([last(present.id), last()]);
    expect(both).toMatchObject([{ reason: { code: 'conflict' } }, { value: { kind: 'reserved' } }]);
  });

  it('admits one of several orders at once with the same id, and those beside them', async () => {
    const { id } = sandboxRecord();
    const made = await Promise.allSettled(
      [{ id }, { id }, {}].map((record) =>
        store().sandboxes.reserve({ sandbox: sandboxRecord(record), limits: NO_CAP, events: [] }),
      ),
    );
    const kinds = made.map((each) => (each.status === 'fulfilled' ? each.value.kind : each.reason.code));
    expect([kinds.slice(0, 2).sort(), kinds[2]]).toEqual([['conflict', 'reserved'], 'reserved']);
    expect(await store().sandboxes.list({ limit: 10 })).toHaveLength(2);
  });

  it('reads the current row, however often it was read before', async () => {
    const { id } = await put({ state: 'running', expires_at: stamp(10) });
    const { sandboxes } = store();
    const read = async () => {
      const [listed] = await sandboxes.list({ limit: 1, include_ended: true });
      const row = await sandboxes.get(id);
      expect(listed).toEqual(row);
      return row;
    };
    expect(await read()).toMatchObject({ state: 'running', expires_at: stamp(10) });
    await sandboxes.extend(id, ['running'], { was: stamp(10), expires_at: stamp(20) });
    expect(await read()).toMatchObject({ expires_at: stamp(20) });
    const patch = { state: 'destroyed', ended_at: stamp(1) } as const;
    await sandboxes.transition({ id, from: ['running'], epoch: 1, patch, events: [] });
    expect(await read()).toMatchObject({ state: 'destroyed' });
    await sandboxes.purgeEnded(stamp(2));
    expect(await read()).toBeUndefined();
  });

  it('is not changed by later changes of the objects that were passed in or returned', async () => {
    const metadata = { a: '1' };
    const record = sandboxRecord({ metadata });
    await store().sandboxes.reserve({ sandbox: record, limits: NO_CAP, events: [] });
    metadata.a = '2';
    const row = await store().sandboxes.get(record.id);
    expect(row?.metadata).toEqual({ a: '1' });
    // Refused where what is given out is what is kept.
    Reflect.set(row!.metadata, 'a', '3');
    expect((await store().sandboxes.get(record.id))?.metadata).toEqual({ a: '1' });
  });
}

export function transitioning({ store, put, change }: Given): void {
  it('changes only the named columns, and stores events', async () => {
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
    expect(moved).toEqual({ sandbox: { ...row, ...patch }, events: [event] });
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
    ['another deadline', { expires_at: stamp(1) }],
    ['a lease that does not exist', { lease_generation: 1 }],
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

  it('writes only if the deadline is the one that was read', async () => {
    const row = await put({ expires_at: stamp(10) });
    const moved = await change(row, { state: 'destroying' }, { expires_at: stamp(10) });
    expect(moved?.sandbox).toEqual({ ...row, state: 'destroying' });
  });

  it('names the replica that works on the row until it is done', async () => {
    const row = await put({ replica_id: 'r-a' });
    expect((await store().sandboxes.get(row.id))?.replica_id).toBe('r-a');
    const kept = await change(row, { state: 'unhealthy' });
    expect(kept?.sandbox.replica_id).toBe('r-a');
    const other = await change(
      { ...row, state: 'unhealthy' },
      { state: 'destroying' },
      { replica_id: 'r-b' },
    );
    expect(other?.sandbox.replica_id).toBe('r-b');
    const end = { state: 'destroyed', ended_at: stamp(1) } as const;
    const done = await change({ ...row, state: 'destroying' }, end, { replica_id: null });
    expect(done?.sandbox).not.toHaveProperty('replica_id');
    expect(await store().sandboxes.get(row.id)).not.toHaveProperty('replica_id');
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
      await store().sandboxes.reserve({
        sandbox: sandboxRecord(),
        limits: { ...NO_CAP, max_sandboxes: 2 },
        events: [],
      }),
    ).toMatchObject({
      kind: 'reserved',
    });
  });
}

export function extending({ store, put }: Given): void {
  it('moves the deadline that the caller found, and repeats without harm', async () => {
    const row = await put({ expires_at: stamp(100) });
    const extend = (was: number, to: number) =>
      store().sandboxes.extend(row.id, ['creating', 'running'], { was: stamp(was), expires_at: stamp(to) });
    expect(await extend(100, 150)).toEqual({ ...row, expires_at: stamp(150) });
    expect(await extend(100, 150)).toEqual({ ...row, expires_at: stamp(150) });
    expect(await extend(100, 120)).toBeUndefined();
    expect(await extend(150, 120)).toEqual({ ...row, expires_at: stamp(120) });
    expect((await store().sandboxes.get(row.id))?.expires_at).toBe(stamp(120));
  });

  it('lets one of many extensions of the same deadline win', async () => {
    const row = await put({ expires_at: stamp(100) });
    const rivals = Array.from({ length: 20 }, (_, n) =>
      store().sandboxes.extend(row.id, ['creating'], { was: stamp(100), expires_at: stamp(101 + n) }),
    );
    const won = (await Promise.all(rivals)).filter((moved) => moved !== undefined);
    expect(won).toHaveLength(1);
    expect(await store().sandboxes.get(row.id)).toEqual(won[0]);
  });

  it('leaves rows of other states and unknown ids alone', async () => {
    const row = await put({ state: 'destroying' });
    const deadline = { was: row.expires_at, expires_at: stamp(9999) };
    expect(await store().sandboxes.extend(row.id, ['running'], deadline)).toBeUndefined();
    expect(await store().sandboxes.extend('sb-nobody', ['running'], deadline)).toBeUndefined();
    expect(await store().sandboxes.get(row.id)).toEqual(row);
  });

  it('purges only rows that ended before the stamp', async () => {
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
