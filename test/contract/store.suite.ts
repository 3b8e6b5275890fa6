// What every store must do, whatever it is made of. A suite as a value: a store's test file calls it with a way to open
// an empty one.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SandboxRecord, Store, Transition } from '../../src/store/store.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../support/records.ts';

const CLAIM = { scope: 'alice', key: 'k1', fingerprint: 'f1' };

export function storeContract(name: string, open: () => Promise<Store>): void {
  describe(`${name} store`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    /** A stored row in the state it says. */
    const put = async (facts: Partial<SandboxRecord> = {}) => {
      const record = sandboxRecord(facts);
      await store.sandboxes.reserve(record, NO_CAP, []);
      return record;
    };
    const change = (row: SandboxRecord, patch: Transition['patch'], more: Partial<Transition> = {}) =>
      store.sandboxes.transition({
        id: row.id,
        from: [row.state],
        epoch: row.epoch,
        patch,
        events: [],
        ...more,
      });
    const given = { store: () => store, put, change };

    describe('reserve', () => reserving(given));
    describe('transition', () => transitioning(given));
    describe('extend, purge', () => extending(given));
    describe('reading', () => reading(given));
    describe('list', () => listing(given));
    describe('events', () => eventful(given));
    describe('idempotency', () => idempotent(given));

    it('has an identity', async () => {
      expect(store.instance.key).toMatch(/^[0-9a-f]{64}$/);
      expect(store.instance.id).not.toBe('');
      expect(store.instance.created_at).toBe(stamp());
    });

    it('closes twice', async () => {
      await store.ping();
      await store.close();
      await store.close();
    });
  });
}

interface Given {
  store: () => Store;
  put: (facts?: Partial<SandboxRecord>) => Promise<SandboxRecord>;
  change: (
    row: SandboxRecord,
    patch: Transition['patch'],
    more?: Partial<Transition>,
  ) => ReturnType<Store['sandboxes']['transition']>;
}

function reserving({ store, put }: Given): void {
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

  it('gives out copies', async () => {
    const record = sandboxRecord({ metadata: { a: '1' } });
    await store().sandboxes.reserve(record, NO_CAP, []);
    record.metadata.a = '2';
    const row = await store().sandboxes.get(record.id);
    expect(row?.metadata).toEqual({ a: '1' });
    row!.metadata.a = '3';
    expect((await store().sandboxes.get(record.id))?.metadata).toEqual({ a: '1' });
  });
}

function transitioning({ store, put, change }: Given): void {
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

function extending({ store, put }: Given): void {
  it('never brings the end nearer', async () => {
    const row = await put({ expires_at: stamp(100) });
    const extend = (to: string) => store().sandboxes.extend(row.id, ['creating', 'running'], to);
    expect(await extend(stamp(50))).toEqual(row);
    expect(await extend(stamp(150))).toEqual({ ...row, expires_at: stamp(150) });
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
}

function reading({ store, put }: Given): void {
  it('finds what is due, soonest first, of live states only', async () => {
    expect(await store().sandboxes.nextDeadline()).toBeUndefined();
    await put({ state: 'destroying', expires_at: stamp(1) });
    await put({ state: 'destroyed', expires_at: stamp(1) });
    const late = await put({ state: 'unhealthy', expires_at: stamp(30) });
    const soon = await put({ state: 'running', expires_at: stamp(10), owner_id: 'alice' });
    const then = await put({ state: 'creating', expires_at: stamp(20) });
    expect(await store().sandboxes.nextDeadline()).toBe(stamp(10));
    expect(await store().sandboxes.due(stamp(20), 10)).toEqual([soon, then]);
    expect(await store().sandboxes.due(stamp(99), 2)).toEqual([soon, then]);
    expect(await store().sandboxes.due(stamp(99), 9)).toEqual([soon, then, late]);
    expect(await store().sandboxes.due(stamp(99), 9, 'alice')).toEqual([soon]);
    expect(await store().sandboxes.due(stamp(9), 9)).toEqual([]);
  });

  it('gives rows in states oldest first', async () => {
    const newer = await put({ created_at: stamp(2) });
    const older = await put({ created_at: stamp(1), state: 'destroying' });
    await put({ state: 'running' });
    expect(await store().sandboxes.inStates(['creating', 'destroying'], 10)).toEqual([older, newer]);
    expect(await store().sandboxes.inStates(['creating', 'destroying'], 1)).toEqual([older]);
    expect(await store().sandboxes.inStates([], 10)).toEqual([]);
  });

  it('says undefined for what is not there', async () => {
    expect(await store().sandboxes.get('sb-nobody')).toBeUndefined();
    expect(await store().sandboxes.countActive()).toEqual({ total: 0, by_provider: {} });
  });
}

const key = fc.constantFrom(
  'a',
  'b',
  '__proto__',
  'toString',
  "x'y",
  '$."a"',
  'é',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '%',
  '',
);
const value = fc.constantFrom('', '1', 'a', '\u0000', 'a\u0000b', '"', '\\', '\ud800', 'null', '[1]');
const metadata = fc.dictionary(key, value, { maxKeys: 3 });
const owner = fc.constantFrom('alice', 'bob', "o'; --");
const facts = fc.record({
  state: fc.constantFrom('creating', 'running', 'unhealthy', 'destroying', 'destroyed', 'error'),
  provider: fc.constantFrom('userspace', 'other'),
  worker_id: fc.constantFrom('local', 'far'),
  created_at: fc.integer({ min: 0, max: 3 }).map(stamp),
  owner: fc.option(owner, { nil: undefined }),
  metadata,
});
const filters = fc.record(
  {
    state: fc.constantFrom('creating', 'running', 'destroyed'),
    provider: fc.constantFrom('userspace', 'none'),
    worker_id: fc.constantFrom('local', 'far'),
    owner_id: owner,
    include_ended: fc.boolean(),
    metadata,
  },
  { requiredKeys: [] },
);

function listing({ store, put }: Given): void {
  it('filters and pages like a plain filter over all rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(facts, { maxLength: 15 }),
        filters,
        fc.integer({ min: 1, max: 4 }),
        async (all, filter, limit) => {
          const tag = sandboxRecord().id;
          const rows = [];
          for (const { owner: owner_id, ...fact } of all)
            rows.push(
              await put({
                ...fact,
                ...(owner_id && { owner_id }),
                metadata: { ...fact.metadata, tag },
              } as Partial<SandboxRecord>),
            );
          const wanted = { ...filter, metadata: { ...filter.metadata, tag } };
          const paged: SandboxRecord[] = [];
          for (;;) {
            const after = paged.at(-1);
            const page = await store().sandboxes.list({ ...wanted, limit, ...(after && { after }) } as never);
            paged.push(...page);
            if (page.length < limit) break;
          }
          expect(paged.map(({ id }) => id)).toEqual(naively(rows, wanted as never).map(({ id }) => id));
        },
      ),
      { numRuns: 150 },
    );
  });
}

function naively(
  rows: SandboxRecord[],
  filter: Partial<SandboxRecord> & { include_ended?: boolean },
): SandboxRecord[] {
  const ended = ['destroyed', 'error'];
  return rows
    .filter((row) =>
      filter.state ? row.state === filter.state : filter.include_ended || !ended.includes(row.state),
    )
    .filter((row) => filter.owner_id === undefined || filter.owner_id === row.owner_id)
    .filter((row) => filter.provider === undefined || filter.provider === row.provider)
    .filter((row) => filter.worker_id === undefined || filter.worker_id === row.worker_id)
    .filter((row) =>
      Object.entries(filter.metadata ?? {}).every(([k, v]) =>
        Object.entries(row.metadata).some(([a, b]) => a === k && b === v),
      ),
    )
    .sort((a, b) => (`${a.created_at} ${a.id}` < `${b.created_at} ${b.id}` ? 1 : -1));
}

function eventful({ store, put, change }: Given): void {
  it('gives rising ids over all ways in, in order', async () => {
    await store().events.append([eventDraft({ type: 'exec.started' }), eventDraft({ type: 'exec.failed' })]);
    const row = await put();
    await change(row, { state: 'running' }, { events: [eventDraft({ type: 'sandbox.running' })] });
    await store().events.append([eventDraft({ type: 'file.read' })]);
    const all = await store().events.since(0, 100);
    expect(all.map(({ type }) => type)).toEqual([
      'exec.started',
      'exec.failed',
      'sandbox.running',
      'file.read',
    ]);
    expect(all.every((event, i) => i === 0 || event.id > all[i - 1]!.id)).toBe(true);
    expect(await store().events.since(all[1]!.id, 1)).toEqual([all[2]]);
    expect(await store().events.since(all[3]!.id, 10)).toEqual([]);
  });

  it('keeps the newest and says how many went', async () => {
    const all = await store().events.append(Array.from({ length: 2300 }, () => eventDraft()));
    expect(await store().events.prune(5000)).toBe(0);
    expect(await store().events.prune(10)).toBe(2290);
    expect(await store().events.since(0, 100)).toEqual(all.slice(-10));
    const [next] = await store().events.append([eventDraft()]);
    expect(next!.id).toBeGreaterThan(all.at(-1)!.id);
    expect(await store().events.prune(0)).toBe(11);
    expect(await store().events.append([])).toEqual([]);
  });
}

function idempotent({ store, change }: Given): void {
  const reserve = (record = sandboxRecord(), claim: Partial<typeof CLAIM> = {}) =>
    store().sandboxes.reserve(record, NO_CAP, [], { ...CLAIM, ...claim });

  it('replays without an answer, then with it, even after the row was purged', async () => {
    const row = sandboxRecord();
    await reserve(row);
    const replay = { kind: 'replay', sandbox_id: row.id, fingerprint: 'f1' };
    expect(await reserve(sandboxRecord(), { fingerprint: 'f2' })).toEqual(replay);
    await change(row, { state: 'running' }, { response: '{"id":1}' });
    expect(await reserve()).toEqual({ ...replay, response: '{"id":1}' });
    await change({ ...row, state: 'running' }, { state: 'destroyed', ended_at: stamp(1) });
    await store().sandboxes.purgeEnded(stamp(2));
    expect(await reserve()).toEqual({ ...replay, response: '{"id":1}' });
    expect(await store().sandboxes.list({ limit: 10 })).toEqual([]);
  });

  it('tells scopes and keys apart, and replays also when the cap is reached', async () => {
    const row = sandboxRecord();
    await reserve(row);
    expect(await reserve(sandboxRecord(), { scope: 'bob' })).toMatchObject({ kind: 'reserved' });
    expect(await reserve(sandboxRecord(), { key: 'k2' })).toMatchObject({ kind: 'reserved' });
    const replay = await store().sandboxes.reserve(
      sandboxRecord(),
      { ...NO_CAP, max_sandboxes: 1 },
      [],
      CLAIM,
    );
    expect(replay).toMatchObject({ kind: 'replay', sandbox_id: row.id });
  });

  it('forgets the key with a failed spawn', async () => {
    const row = sandboxRecord();
    await reserve(row);
    await change(row, { state: 'error' });
    expect(await reserve()).toMatchObject({ kind: 'reserved' });
  });

  it('takes a claim whose row ended without an answer as absent', async () => {
    const row = sandboxRecord();
    await reserve(row);
    await change(row, { state: 'destroying' });
    expect(await reserve()).toMatchObject({ kind: 'replay' });
    await change({ ...row, state: 'destroying' }, { state: 'destroyed', ended_at: stamp(1) });
    const next = sandboxRecord();
    expect(await reserve(next)).toMatchObject({ kind: 'reserved' });
    expect(await reserve()).toMatchObject({ kind: 'replay', sandbox_id: next.id });
  });

  it('takes a claim whose row is gone without an answer as absent', async () => {
    const row = sandboxRecord();
    await reserve(row);
    await change(row, { state: 'destroyed', ended_at: stamp(1) });
    await store().sandboxes.purgeEnded(stamp(2));
    expect(await reserve()).toMatchObject({ kind: 'reserved' });
  });

  it('prunes claims made before the stamp', async () => {
    await reserve(sandboxRecord({ created_at: stamp(1) }), { key: 'old' });
    await reserve(sandboxRecord({ created_at: stamp(2) }), { key: 'new' });
    expect(await store().idempotency.prune(stamp(2))).toBe(1);
    expect(await reserve(sandboxRecord(), { key: 'old' })).toMatchObject({ kind: 'reserved' });
    expect(await reserve(sandboxRecord(), { key: 'new' })).toMatchObject({ kind: 'replay' });
  });
}
