// Another program in the file: the store waits without blocking, gives up with a typed error, and goes on afterwards.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';
import { eventDraft, NO_CAP, sandboxRecord } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

async function setUp() {
  const deps = fakeDeps();
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openSqliteStore({ ...deps, path, synchronous: 'full' });
  const other = new Sqlite(path, { timeout: 0 });
  onTestFinished(async () => {
    other.close();
    await store.close();
  });
  return { clock: deps.clock, store, other };
}

it('waits for another writer, and answers readers meanwhile', async () => {
  const { clock, store, other } = await setUp();
  other.exec('BEGIN IMMEDIATE');
  const begun = performance.now();
  const rows = Array.from({ length: 100 }, () => sandboxRecord());
  const writes = rows.map((row) =>
    store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [eventDraft()] }),
  );
  const appended = store.events.append([eventDraft()]);
  expect(await store.sandboxes.list({ limit: 9 })).toEqual([]);
  await clock.advance(4000);
  expect(await store.sandboxes.list({ limit: 9 })).toEqual([]);
  // 100 writers tried some 200 times each; with SQLite's own waiting this took minutes.
  expect(performance.now() - begun).toBeLessThan(10_000);
  other.exec('COMMIT');
  await clock.advance(40);
  for (const write of writes) expect(await write).toMatchObject({ kind: 'reserved' });
  await appended;
  expect(await store.events.since(0, 1000)).toHaveLength(101);
});

it('answers unavailable after 5 s, writes nothing, and works again later', async () => {
  const { clock, store, other } = await setUp();
  other.exec('BEGIN IMMEDIATE');
  const row = sandboxRecord();
  const failed = expect(
    store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [eventDraft()] }),
  ).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The database is held by another program.',
    remedy: expect.any(String),
  });
  await clock.advance(0);
  await clock.advance(5100);
  await failed;
  other.exec('COMMIT');
  expect(await store.sandboxes.get(row.id)).toBeUndefined();
  expect(await store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] })).toMatchObject({
    kind: 'reserved',
  });
});

it('ends a wait with unavailable when the store is closed', async () => {
  const { clock, store, other } = await setUp();
  other.exec('BEGIN IMMEDIATE');
  const failed = expect(store.sandboxes.purgeEnded('')).rejects.toMatchObject({ code: 'unavailable' });
  await store.close();
  await clock.advance(100);
  await failed;
});
