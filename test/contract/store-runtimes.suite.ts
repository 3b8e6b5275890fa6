// The contract of stores that several control planes share: which sandbox has which runtime of a service that names them.
import { expect, it } from 'vitest';
import type { PrewarmedRecord } from '../../src/store/seam/prewarmed.ts';
import type { RuntimeStore } from '../../src/store/seam/runtimes.ts';
import { NO_CAP, sandboxRecord, stamp, warmRecord } from '../support/records.ts';
import type { Given } from './store.suite.ts';

export function runtimesOf({ store, put, change }: Given): void {
  const runtimes = () => store().runtimes as RuntimeStore;
  const custom = (facts = {}) => put({ provider: 'custom', ...facts });
  const prewarmed = async (facts: Partial<PrewarmedRecord>) => {
    const record = warmRecord({ provider: 'custom', ...facts });
    await store().warm.reserve(record, NO_CAP);
    return record;
  };
  const end = async (row: Parameters<typeof change>[0]) =>
    change(row, { state: 'error', ended_at: stamp(), end_reason: 'spawn_failed' });

  it('gives a runtime to one sandbox until that releases it', async () => {
    const [first, second] = [await custom(), await custom()];
    const assign = (id: string) => runtimes().assign('custom', 'slot \u00e9 1', id);
    expect(await runtimes().find('custom', 'slot \u00e9 1')).toBeUndefined();
    expect([await assign(first.id), await assign(second.id), await assign(first.id)]).toEqual(
      Array(3).fill(first.id),
    );
    expect(await runtimes().find('custom', 'slot \u00e9 1')).toBe(first.id);
    expect(await runtimes().assign('hosted', 'slot \u00e9 1', second.id)).toBe(second.id);
    await runtimes().release(first.id);
    await runtimes().release(first.id);
    expect(await assign(second.id)).toBe(second.id);
  });

  it('gives a runtime to one of many that ask at once', async () => {
    const rows = await Promise.all(Array.from({ length: 8 }, () => custom()));
    const holders = await Promise.all(rows.map(({ id }) => runtimes().assign('custom', 'r', id)));
    expect(new Set(holders).size).toBe(1);
    expect(await runtimes().find('custom', 'r')).toBe(holders[0]);
  });

  it('gives the runtime of a sandbox that has ended to the next one', async () => {
    const [first, second] = [await custom(), await custom()];
    await runtimes().assign('custom', 'r', first.id);
    await end(first);
    expect(await runtimes().find('custom', 'r')).toBeUndefined();
    expect(await runtimes().assign('custom', 'r', second.id)).toBe(second.id);
  });

  it('leaves a runtime to a prewarmed sandbox, and to the sandbox that it becomes', async () => {
    const warm = await prewarmed({ shape: 's' });
    const other = await custom();
    const assign = () => runtimes().assign('custom', 'r', other.id);
    await runtimes().assign('custom', 'r', warm.id);
    expect(await assign()).toBe(warm.id);
    await store().warm.ready({ ...warm, state: 'ready', runtime_id: 'r' });
    const sandbox = sandboxRecord({ id: warm.id, provider: 'custom', state: 'running', runtime_id: 'r' });
    const taken = await store().sandboxes.reserve({
      ...{ sandbox, limits: NO_CAP, events: [], warm: { response: '{}' } },
    });
    expect(taken.kind).toBe('reserved');
    expect(await assign()).toBe(warm.id);
  });

  it('takes over what rows of the provider on this server say, and forgets those that have ended', async () => {
    const known = await custom();
    await change(known, { state: 'running', runtime_id: 'r1' });
    const [remote, ended, later] = [
      await custom({ worker_id: 'w1', runtime_id: 'r2' }),
      await custom(),
      await custom(),
    ];
    await runtimes().assign('custom', 'r3', ended.id);
    await end(ended);
    for (let n = 0; n < 2; n++) await runtimes().adopt('custom');
    const assign = (name: string) => runtimes().assign('custom', name, later.id);
    expect(remote.id).not.toBe(later.id);
    expect([await assign('r1'), await assign('r2'), await assign('r3')]).toEqual([
      ...[known.id, later.id, later.id],
    ]);
  });
}
