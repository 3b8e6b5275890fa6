// A disk that is really full: a small tmpfs, filled to the last byte beside the database.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { fill } from '../support/hosts/fill-disk.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import { describeWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';

countFaults('database of the server');

const FULL = { code: 'resource_limit', status: 507 };

function smallDisk(): string {
  const folder = join(temporaryFolder(), 'disk');
  mkdirSync(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'svc-test', folder]);
  onTestFinished(() => void execFileSync('umount', ['-l', folder]));
  return folder;
}

describeWith(['root'], 'a full disk', () => {
  it('refuses spawns with 507, still ends every sandbox, and recovers without a restart', async () => {
    const folder = smallDisk();
    const path = join(folder, 'svc.db');
    const store = await openSqliteStore({ ...fakeDeps(), path, synchronous: 'full' });
    const rows = Array.from({ length: 100 }, () => sandboxRecord());
    for (const row of rows)
      await store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [eventDraft()] });
    fill(join(folder, 'filler'));
    const admitted = [];
    const admit = async () => {
      for (;;) {
        const row = sandboxRecord({ metadata: { fill: 'x'.repeat(1000) } });
        await store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] });
        admitted.push(row);
      }
    };
    await expect(admit()).rejects.toMatchObject(FULL);
    expect((await store.sandboxes.countActive()).total).toBe(100 + admitted.length);
    await endAll(store, rows);
    await expect(store.events.append([eventDraft()])).rejects.toMatchObject(FULL);
    rmSync(join(folder, 'filler'));
    expect(
      await store.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] }),
    ).toMatchObject({ kind: 'reserved' });
    await store.close();
    const again = await openSqliteStore({ ...fakeDeps(), path, synchronous: 'full' });
    expect((await again.sandboxes.countActive()).total).toBe(1 + admitted.length);
    await again.close();
  });
});

async function endAll(
  { sandboxes }: Awaited<ReturnType<typeof openSqliteStore>>,
  rows: { id: string }[],
): Promise<void> {
  for (const { id } of rows) {
    const events = [eventDraft({ sandbox_id: id })];
    await sandboxes.transition({ id, from: ['creating'], epoch: 1, patch: { state: 'destroying' }, events });
    const patch = { state: 'destroyed', ended_at: stamp() } as const;
    expect(await sandboxes.transition({ id, from: ['destroying'], epoch: 1, patch, events })).toBeDefined();
  }
}
