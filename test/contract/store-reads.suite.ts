// The contract of stores: what reads rows, lists against a plain filter over all of them, and events.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SandboxRecord } from '../../src/store/store.ts';
import { appended, eventDraft, sandboxRecord, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

export function reading({ store, put }: Given): void {
  it('finds due rows of live states, earliest first', async () => {
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

  it('counts active rows by group', async () => {
    expect(await store().sandboxes.census()).toEqual([]);
    for (const state of ['running', 'running', 'creating', 'destroyed', 'error'] as const)
      await put({ state });
    await put({ state: 'running', provider: 'other', worker_id: 'far' });
    const groups = await store().sandboxes.census();
    expect(groups.sort((a, b) => b.count - a.count || (a.state < b.state ? -1 : 1))).toEqual([
      { state: 'running', provider: 'userspace', worker_id: 'local', count: 2 },
      { state: 'creating', provider: 'userspace', worker_id: 'local', count: 1 },
      { state: 'running', provider: 'other', worker_id: 'far', count: 1 },
    ]);
  });

  it('lists rows in given states, oldest first', async () => {
    const newer = await put({ created_at: stamp(2) });
    const older = await put({ created_at: stamp(1), state: 'destroying' });
    await put({ state: 'running' });
    expect(await store().sandboxes.inStates(['creating', 'destroying'], 10)).toEqual([older, newer]);
    expect(await store().sandboxes.inStates(['creating', 'destroying'], 1)).toEqual([older]);
    expect(await store().sandboxes.inStates([], 10)).toEqual([]);
  });

  it('returns undefined for an unknown id', async () => {
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
  from: fc.option(fc.constant('t'), { nil: undefined }),
  metadata,
});
const filters = fc.record(
  {
    state: fc.constantFrom('creating', 'running', 'destroyed'),
    provider: fc.constantFrom('userspace', 'none'),
    worker_id: fc.constantFrom('local', 'far'),
    template: fc.constantFrom('t', 'none'),
    owner_id: owner,
    q: fc.constantFrom('SB-', 'li', "'; -", '%', 'T', '\u0000'),
    include_ended: fc.boolean(),
    metadata,
  },
  { requiredKeys: [] },
);

export function listing({ store, put }: Given): void {
  it('filters and pages like a plain filter over all rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(facts, { maxLength: 15 }),
        filters,
        fc.integer({ min: 1, max: 4 }),
        fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined }),
        async (all, filter, limit, some) => {
          const tag = sandboxRecord().id;
          const rows = [];
          for (const { owner: owner_id, from: template, ...fact } of all)
            rows.push(
              await put({
                ...fact,
                ...(owner_id && { owner_id }),
                ...(template && { template }),
                metadata: { ...fact.metadata, tag },
              } as Partial<SandboxRecord>),
            );
          const ids = some === undefined ? {} : { ids: [...rows.slice(some).map(({ id }) => id), 'sb-none'] };
          const wanted = { ...filter, ...ids, metadata: { ...filter.metadata, tag } };
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
  filter: Partial<SandboxRecord> & { include_ended?: boolean; ids?: string[]; q?: string },
): SandboxRecord[] {
  const ended = ['destroyed', 'error'];
  const text = filter.q?.toLowerCase() ?? '';
  return rows
    .filter(({ id }) => filter.ids?.includes(id) ?? true)
    .filter(({ id, owner_id = '', template = '' }) =>
      [id, owner_id, template].some((one) => one.toLowerCase().includes(text)),
    )
    .filter((row) =>
      filter.state ? row.state === filter.state : filter.include_ended || !ended.includes(row.state),
    )
    .filter((row) => filter.owner_id === undefined || filter.owner_id === row.owner_id)
    .filter((row) => filter.provider === undefined || filter.provider === row.provider)
    .filter((row) => filter.worker_id === undefined || filter.worker_id === row.worker_id)
    .filter((row) => filter.template === undefined || filter.template === row.template)
    .filter((row) =>
      Object.entries(filter.metadata ?? {}).every(([k, v]) =>
        Object.entries(row.metadata).some(([a, b]) => a === k && b === v),
      ),
    )
    .sort((a, b) => (`${a.created_at} ${a.id}` < `${b.created_at} ${b.id}` ? 1 : -1));
}

export function eventful({ store, put, change }: Given): void {
  it('gives rising ids in order, whichever call appends', async () => {
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

  it('keeps the actor', async () => {
    const [ci, unknown] = await appended(store().events, [eventDraft({ actor: 'key:ci' }), eventDraft()]);
    expect(ci).toMatchObject({ actor: 'key:ci' });
    expect(await store().events.since(0, 10)).toEqual([ci, unknown]);
    expect(unknown).not.toHaveProperty('actor');
  });

  it('keeps the newest and reports how many were deleted', async () => {
    const all = await appended(
      store().events,
      Array.from({ length: 2300 }, () => eventDraft()),
    );
    expect(await store().events.prune(5000)).toBe(0);
    expect(await store().events.prune(10)).toBe(2290);
    expect(await store().events.bounds()).toMatchObject({ oldest: all.at(-10)!.id, newest: all.at(-1)!.id });
    expect(await store().events.since(0, 100)).toEqual(all.slice(-10));
    const [next] = await appended(store().events, [eventDraft()]);
    expect(next!.id).toBeGreaterThan(all.at(-1)!.id);
    expect(await store().events.prune(0)).toBe(11);
    expect(await store().events.bounds()).toMatchObject({ oldest: 0, newest: 0 });
    expect(await appended(store().events, [])).toEqual([]);
  });

  it('keeps those of owners with few, and reports the deleted ones by owner', async () => {
    const { events } = store();
    const of = (owner_id: string | undefined, count: number) =>
      appended(
        events,
        Array.from({ length: count }, () => ({ ...eventDraft(), ...(owner_id && { owner_id }) })),
      );
    const ann = await of('ann', 5);
    const mallory = await of('mallory', 2000);
    const nobodys = await of(undefined, 5);
    expect(await events.prune(110)).toBe(1900);
    const kept = await events.since(0, 1000);
    expect(kept).toEqual([...ann, ...mallory.slice(-100), ...nobodys]);
    const [oldest, newest] = [ann[0]!.id, nobodys.at(-1)!.id];
    const lost = mallory[1899]!.id;
    expect(await events.bounds('ann')).toEqual({ oldest, newest, lost_through: 0 });
    expect(await events.bounds('mallory')).toEqual({ oldest, newest, lost_through: lost });
    expect(await events.bounds()).toEqual({ oldest, newest, lost_through: lost });
    // When all that is older has gone, the oldest says it all.
    await events.prune(0);
    await of('ann', 1);
    await events.prune(1);
    expect(await events.bounds('mallory')).toMatchObject({ lost_through: 0 });
  });
}
