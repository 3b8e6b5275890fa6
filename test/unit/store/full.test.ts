// A full disk, imitated with max_page_count: nothing new is admitted, readers go on, ends are still written.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { eventIds } from '../../../src/store/sqlite/event-ids.ts';
import { createExecutor } from '../../../src/store/sqlite/executor.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { openReserveSpace, type ReserveSpace } from '../../../src/store/sqlite/reserve-space.ts';
import { RowCache } from '../../../src/store/sqlite/row-cache.ts';
import { sandboxQueries } from '../../../src/store/sqlite/sandbox-queries.ts';
import { sandboxWrites } from '../../../src/store/sqlite/sandboxes.ts';
import type { SandboxRecord } from '../../../src/store/store.ts';
import { fakeClock, seededRandom } from '../../support/fakes/ports.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const FULL = { code: 'resource_limit', status: 507, remedy: expect.any(String) };

function setUp() {
  const db = new Sqlite(join(temporaryFolder(), 'svc.db'));
  onTestFinished(() => void db.close());
  migrate(db);
  const pages = db.pragma('page_count', { simple: true }) as number;
  const disk = { held: true, room: true };
  const reserveSpace: ReserveSpace = {
    ready: () => {
      disk.held ||= disk.room;
      return disk.held;
    },
    spend: () => {
      const had = disk.held;
      disk.held = false;
      if (had) db.pragma(`max_page_count = ${pages + 40}`);
      return had;
    },
  };
  const work = createExecutor({ clock: fakeClock(), reserveSpace, isOpen: () => db.open, inPlace: () => {} });
  const table = { db, work, cache: new RowCache() };
  const store = { ...sandboxWrites(table, eventIds(db)), ...sandboxQueries(table) };
  const fill = () => {
    disk.room = false;
    db.pragma(`max_page_count = ${pages + 20}`);
  };
  const clear = () => {
    disk.room = true;
    db.pragma('max_page_count = 100000');
  };
  return { store, disk, fill, clear };
}

it('refuses spawns, reads, ends sandboxes, and admits again with free space', async () => {
  const { store, disk, fill, clear } = setUp();
  fill();
  const big = () => sandboxRecord({ metadata: { fill: 'x'.repeat(3000) } });
  const kept: SandboxRecord[] = [];
  const admit = async () => {
    for (;;) {
      const row = big();
      await store.reserve({
        sandbox: row,
        limits: NO_CAP,
        events: [eventDraft({ data: { fill: 'x'.repeat(3000) } })],
      });
      kept.push(row);
    }
  };
  await expect(admit()).rejects.toMatchObject(FULL);
  const ids = (await store.list({ limit: 99 })).map(({ id }) => id);
  expect(ids.toSorted()).toEqual(kept.map(({ id }) => id).toSorted());
  expect((await store.countActive()).total).toBe(kept.length);
  for (const { id } of kept) {
    const events = [eventDraft({ data: { fill: 'x'.repeat(3000) } })];
    const patch = { state: 'destroyed', ended_at: stamp() } as const;
    expect(await store.transition({ id, from: ['creating'], epoch: 1, patch, events })).toBeDefined();
  }
  expect(disk.held).toBe(false);
  await expect(store.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] })).rejects.toMatchObject(
    FULL,
  );
  clear();
  expect(await store.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] })).toMatchObject({
    kind: 'reserved',
  });
  expect(disk.held).toBe(true);
});

it('answers 507 also for an end once the reserve is spent', async () => {
  const { store, disk, fill } = setUp();
  const row = sandboxRecord();
  await store.reserve({ sandbox: row, limits: NO_CAP, events: [] });
  fill();
  disk.held = false;
  const events = Array.from({ length: 40 }, () => eventDraft({ data: { fill: 'x'.repeat(3000) } }));
  const end = store.transition({
    id: row.id,
    from: ['creating'],
    epoch: 1,
    patch: { state: 'error' },
    events,
  });
  await expect(end).rejects.toMatchObject(FULL);
  expect(await store.get(row.id)).toEqual(row);
});

it('reserves real space in a file, frees it once, and reserves it again', () => {
  const path = join(temporaryFolder(), 'svc.db.reserve');
  const reserveSpace = openReserveSpace(path, seededRandom());
  expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(4 * 1024 * 1024);
  expect([reserveSpace.ready(), reserveSpace.spend(), existsSync(path), reserveSpace.spend()]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([reserveSpace.ready(), existsSync(path)]).toEqual([true, true]);
  const nowhere = openReserveSpace(temporaryFolder(), seededRandom());
  expect([nowhere.ready(), nowhere.spend()]).toEqual([false, false]);
});
