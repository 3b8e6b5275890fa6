// Writes that wait for one another go in one transaction: each fails for itself alone, ids and events keep their order,
// and nothing is acknowledged of a transaction that is lost.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import type { SqliteStore } from '../../../src/store/sqlite/open.ts';
import type { Reservation } from '../../../src/store/store.ts';
import { openStore } from '../../support/databases.ts';
import { eventDraft, NO_CAP, sandboxRecord } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

async function opened(): Promise<{ store: SqliteStore; path: string }> {
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openStore(path);
  onTestFinished(() => store.close());
  return { store, path };
}

/** Ids of events that a reservation brought along. */
const idsOf = (one: PromiseSettledResult<Reservation>) =>
  one.status === 'fulfilled' && one.value.kind === 'reserved' ? one.value.events.map(({ id }) => id) : [];

it('takes back what a failing one wrote, and nothing else', async () => {
  const { store, path } = await opened();
  const rows = Array.from({ length: 20 }, () => sandboxRecord());
  const claim = { scope: 's', key: 'k', fingerprint: 'f' };
  const [again] = rows;
  const results = await Promise.allSettled([
    ...rows.slice(0, 10).map((row) => store.sandboxes.reserve(row, NO_CAP, [eventDraft(), eventDraft()])),
    // The row is there already: its claim and its events must not stay.
    store.sandboxes.reserve(again!, NO_CAP, [eventDraft()], claim),
    ...rows.slice(10).map((row) => store.sandboxes.reserve(row, NO_CAP, [eventDraft()])),
  ]);
  expect(results.map(({ status }) => status)).toEqual(
    rows.flatMap((_, n) => (n === 10 ? ['rejected', 'fulfilled'] : ['fulfilled'])),
  );
  expect(results[10]).toMatchObject({ reason: { code: 'conflict' } });
  expect(await store.idempotency.find(claim)).toBeUndefined();
  const told = results.flatMap(idsOf);
  expect(told).toEqual(told.toSorted((a, b) => a - b));
  const kept = await store.events.since(0, 100);
  expect(kept.map(({ id }) => id)).toEqual(told);
  const db = new Sqlite(path, { readonly: true });
  onTestFinished(() => void db.close());
  expect(db.prepare('SELECT reserved_through >= max(id) FROM event_ids, events').pluck().get()).toBe(1);
});

it('gives no id again that a failing one took, beyond a reserved block too', async () => {
  const { store } = await opened();
  const row = sandboxRecord();
  await store.sandboxes.reserve(row, NO_CAP, [eventDraft()]);
  const many = Array.from({ length: 10_001 }, () => eventDraft());
  const results = await Promise.allSettled([
    store.sandboxes.reserve(sandboxRecord(), NO_CAP, [eventDraft()]),
    store.sandboxes.reserve(row, NO_CAP, many),
    store.sandboxes.reserve(sandboxRecord(), NO_CAP, [eventDraft()]),
    store.sandboxes.reserve(sandboxRecord(), NO_CAP, [eventDraft()]),
  ]);
  const ids = results.flatMap(idsOf);
  expect(new Set(ids).size).toBe(3);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  expect((await store.events.since(0, 10)).map(({ id }) => id).slice(1)).toEqual(ids);
});

it('goes on one by one when the whole is lost', async () => {
  const { store, path } = await opened();
  const db = new Sqlite(path);
  onTestFinished(() => void db.close());
  // What SQLite does by itself when there is no space: the transaction is gone, not the statement alone.
  db.exec(
    `CREATE TRIGGER lost BEFORE INSERT ON sandboxes WHEN NEW.image = 'doomed' BEGIN SELECT RAISE(ROLLBACK, 'lost'); END`,
  );
  const rows = ['host', 'doomed', 'host', 'host'].map((image) => sandboxRecord({ image }));
  const results = await Promise.allSettled(
    [sandboxRecord(), ...rows].map((row) => store.sandboxes.reserve(row, NO_CAP, [eventDraft()])),
  );
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
  expect((await store.sandboxes.countActive()).total).toBe(4);
  expect(await store.events.since(0, 10)).toHaveLength(4);
});

it('is seen by reads once it is acknowledged, also where the row was in memory', async () => {
  const { store } = await opened();
  const rows = Array.from({ length: 30 }, () => sandboxRecord());
  await Promise.all(rows.map((row) => store.sandboxes.reserve(row, NO_CAP, [])));
  await Promise.all(
    rows.map(async ({ id }) => {
      const reading = setInterval(() => void store.sandboxes.get(id), 0);
      const change = { id, epoch: 1, from: ['creating' as const], events: [] };
      await store.sandboxes.transition({ ...change, patch: { state: 'running' } });
      expect((await store.sandboxes.get(id))?.state).toBe('running');
      expect((await store.sandboxes.list({ limit: 99 })).find((row) => row.id === id)?.state).toBe('running');
      clearInterval(reading);
    }),
  );
});
