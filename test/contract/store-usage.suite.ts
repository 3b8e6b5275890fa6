// The contract of stores: the ledger of use.
import { expect, it } from 'vitest';
import type { UsageAmounts, UsageChange, UsageRecord } from '../../src/store/seam/usage.ts';
import { noAmounts } from '../../src/store/seam/usage.ts';
import { stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const HOUR = Math.floor(Date.parse(stamp()) / 3_600_000);
const amounts = (facts: Partial<UsageAmounts>): UsageAmounts => ({ ...noAmounts(), ...facts });
const change = (row: UsageRecord, facts: Partial<UsageChange> = {}): UsageChange => ({
  ...{ sandbox_id: row.sandbox_id, version: row.version, started_at: row.started_at },
  ...{ metered_to: stamp(1000), peak_memory_bytes: 0, oom_kills: 0, estimated: false, settled: false },
  ...{ hours: [{ hour: HOUR, amounts: amounts({ sandbox_ms: 1000, cpu_us: 7 }) }], ...facts },
});

export function used({ store, put, change: move }: Given): void {
  const running = async (facts = {}) => {
    const row = await put({ state: 'creating', owner_id: 'ann', ...facts });
    await move(row, { state: 'running', memory_mb: 100 });
    return { row: { ...row, state: 'running' as const }, usage: (await store().usage.of([row.id]))[0]! };
  };

  it('opens a row when a sandbox runs, with its actual size, and none for one that never ran', async () => {
    const failed = await put({ state: 'creating' });
    await move(failed, { state: 'error', ended_at: stamp(5) });
    expect(await store().usage.of([failed.id])).toEqual([]);
    const { row, usage } = await running();
    expect(usage).toMatchObject({
      owner_id: 'ann',
      memory_mb: 100,
      started_at: row.created_at,
      settled: false,
    });
    expect(usage).toMatchObject({ claimed: false, metered_to: row.created_at, totals: noAmounts() });
    expect(await store().usage.open(10)).toEqual([usage]);
    expect(await store().usage.open(10, row.id)).toEqual([]);
  });

  it('marks a row of a sandbox that ran before it was admitted', async () => {
    const row = await put({ state: 'running' });
    expect(await store().usage.of([row.id])).toMatchObject([{ claimed: true, owner_id: '' }]);
  });

  it('notes the end of a sandbox with its stamp, and keeps the row when the sandbox is deleted', async () => {
    const { row } = await running();
    await move(row, { state: 'destroyed', ended_at: stamp(2000) });
    await store().sandboxes.purgeEnded(stamp(3000));
    expect(await store().usage.open(10)).toMatchObject([{ sandbox_id: row.id, ended_at: stamp(2000) }]);
  });

  it('adds to the row and to the hours once, whatever is repeated', async () => {
    const { row, usage } = await running();
    const last = { counter: 'c', at: stamp(1000), cpu_us: 7, rx_bytes: 1, tx_bytes: 2, oom_kills: 3 };
    const one = change(usage, { last, peak_memory_bytes: 9 });
    expect(await store().usage.settle([one])).toEqual([row.id]);
    await store().usage.settle([one]);
    const [after] = await store().usage.of([row.id]);
    expect(after).toMatchObject({ version: 1, last, peak_memory_bytes: 9, metered_to: stamp(1000) });
    expect(after?.totals).toEqual(amounts({ sandbox_ms: 1000, cpu_us: 7 }));
    await store().usage.settle([
      change(after!, { hours: [{ hour: HOUR + 1, amounts: amounts({ cpu_us: 3 }) }] }),
    ]);
    const rows = await store().usage.rows({ from: HOUR, to: HOUR + 9, step: 1, by: ['owner_id'], limit: 9 });
    expect(rows).toMatchObject([
      { owner_id: 'ann', hour: HOUR, sandboxes: 1, amounts: { cpu_us: 7 } },
      { owner_id: 'ann', hour: HOUR + 1, sandboxes: 0, amounts: { cpu_us: 3 } },
    ]);
    expect((await store().usage.of([row.id]))[0]?.totals.cpu_us).toBe(10);
  });

  it('settles a row only after its end', async () => {
    const { row, usage } = await running();
    expect(await store().usage.settle([change(usage, { settled: true })])).toEqual([]);
    await move(row, { state: 'destroyed', ended_at: stamp(900) });
    expect(await store().usage.settle([change(usage, { settled: true, metered_to: stamp(900) })])).toEqual([
      row.id,
    ]);
    expect(await store().usage.open(10)).toEqual([]);
    expect(await store().usage.purge({ hours: 0, days: 0, sandboxes: stamp(901) })).toBe(1);
    expect(await store().usage.of([row.id])).toEqual([]);
  });

  it('sums rows by step and field', async () => {
    for (const [owner_id, template] of [
      ['ann', 'a'],
      ['ann', 'b'],
      ['bob', 'a'],
    ]) {
      const { usage } = await running({ owner_id, template });
      const hours = [0, 1, 30].map((at) => ({ hour: HOUR + at, amounts: amounts({ cpu_us: at + 1 }) }));
      await store().usage.settle([change(usage, { hours })]);
    }
    const all = { from: HOUR, to: HOUR + 100, limit: 100 };
    const cpu = async (filter: object) =>
      (await store().usage.rows({ ...all, step: 0, by: [], ...filter })).map(({ amounts }) => amounts.cpu_us);
    expect(await cpu({})).toEqual([102]);
    expect(await cpu({ owner_id: 'ann' })).toEqual([68]);
    expect(await cpu({ owner_id: 'nobody' })).toEqual([]);
    expect(await cpu({ by: ['template'], owner_id: 'ann' })).toEqual([34, 34]);
    expect(await cpu({ step: 1, owner_id: 'bob' })).toEqual([1, 2, 31]);
    expect((await cpu({ step: 24 })).reduce((sum, each) => sum + each)).toBe(102);
    expect(await cpu({ by: ['owner_id'], limit: 1 })).toEqual([68]);
  });

  it('joins old hours to days without changing a sum, and deletes old days', async () => {
    const { usage } = await running();
    const day = HOUR - (HOUR % 24);
    const hours = [1, 2, 25].map((at) => ({ hour: day + at, amounts: amounts({ cpu_us: 1 }) }));
    await store().usage.settle([
      change({ ...usage, started_at: new Date(day * 3_600_000).toISOString() }, { hours }),
    ]);
    await store().usage.purge({ hours: day + 24, days: 0, sandboxes: '' });
    const rows = () => store().usage.rows({ from: 0, to: day + 99, step: 1, by: [], limit: 9 });
    expect((await rows()).map(({ hour, amounts }) => [hour - day, amounts.cpu_us])).toEqual([
      [0, 2],
      [25, 1],
    ]);
    await store().usage.purge({ hours: day + 24, days: day + 24, sandboxes: '' });
    expect(await rows()).toMatchObject([{ hour: day + 25 }]);
  });

  it('lists the sandboxes of an owner in a time, newest first, in pages', async () => {
    const ids: string[] = [];
    for (const at of [0, 10, 20]) ids.push((await running({ created_at: stamp(at) })).row.id);
    await running({ owner_id: 'bob' });
    const filter = { owner_id: 'ann', from: stamp(), to: stamp(100) };
    const all = await store().usage.sandboxes({ ...filter, limit: 9 });
    expect(all.map(({ sandbox_id }) => sandbox_id)).toEqual([...ids].reverse());
    const [first] = all;
    const after = { started_at: first!.started_at, id: first!.sandbox_id };
    expect(await store().usage.sandboxes({ ...filter, limit: 1, after })).toEqual([all[1]]);
    expect(await store().usage.sandboxes({ ...filter, to: stamp(10), limit: 9 })).toEqual([all[2]]);
  });

  it('knows up to when it is complete, and never goes back', async () => {
    expect(await store().usage.completeUntil()).toBeUndefined();
    await store().usage.complete(stamp(10));
    await store().usage.complete(stamp(5));
    expect(await store().usage.completeUntil()).toBe(stamp(10));
  });
}
