// The contract of stores: commands of sandboxes.
import { expect, it } from 'vitest';
import type { StoredExec } from '../../src/store/seam/execs.ts';
import { stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const exec = (sandbox_id: string, n: number, more: Partial<StoredExec> = {}): StoredExec => ({
  ...{ sandbox_id, exec_id: `ex-${n}`, command: `echo ${n}`, detached: false, actor: 'key:ci' },
  started_at: stamp(n),
  ...more,
});

export function executed({ store, put, change }: Given): void {
  it('keeps commands by sandbox, newest first, and learns of their ends', async () => {
    const [one, other] = [await put(), await put()];
    const ended = { ended_at: stamp(9), exit_code: 143, signal: 'SIGTERM' };
    await store().execs.record([exec(one.id, 1), exec(other.id, 1, { detached: true }), exec(one.id, 2)]);
    await store().execs.record([exec(one.id, 1, ended)]);
    await store().execs.record([]);
    expect(await store().execs.list(one.id, 10)).toEqual([exec(one.id, 2), exec(one.id, 1, ended)]);
    expect(await store().execs.list(one.id, 1)).toEqual([exec(one.id, 2)]);
    expect(await store().execs.list(other.id, 10)).toEqual([exec(other.id, 1, { detached: true })]);
    expect(await store().execs.list('sb-nobody', 10)).toEqual([]);
  });

  it('keeps them as long as the row of their sandbox', async () => {
    const row = await put();
    await store().execs.record([exec(row.id, 1)]);
    await change(row, { state: 'destroyed', ended_at: stamp(1) });
    expect(await store().execs.list(row.id, 10)).toHaveLength(1);
    expect(await store().sandboxes.purgeEnded(stamp(2))).toBe(1);
    expect(await store().execs.list(row.id, 10)).toEqual([]);
  });

  it('bounds them by sandbox and in all, more at once than one step deletes', async () => {
    const [busy, calm] = [await put(), await put()];
    await store().execs.record(Array.from({ length: 2500 }, (_, n) => exec(busy.id, n)));
    await store().execs.record([exec(calm.id, 1), exec(calm.id, 2)]);
    expect(await store().execs.prune(5000, 5000)).toBe(0);
    expect(await store().execs.prune(5000, 3)).toBe(2497);
    expect((await store().execs.list(busy.id, 10)).map(({ exec_id }) => exec_id)).toEqual([
      'ex-2499',
      'ex-2498',
      'ex-2497',
    ]);
    expect(await store().execs.prune(1, 3)).toBe(4);
    expect(await store().execs.list(calm.id, 10)).toEqual([exec(calm.id, 2)]);
  });
}
