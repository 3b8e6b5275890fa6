// Writes that wait for one another go in one transaction: each fails for itself alone, ids and events keep their order,
// and nothing is acknowledged of a transaction that is lost.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import type { SqliteStore } from '../../../src/store/sqlite/open.ts';
import type { SandboxRecord } from '../../../src/store/store.ts';
import { openStore } from '../../support/databases.ts';
import { eventDraft, NO_CAP, sandboxRecord } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

async function opened(): Promise<{ store: SqliteStore; path: string }> {
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openStore(path);
  onTestFinished(() => store.close());
  return { store, path };
}

/** A reservation with `count` events. */
const order = (sandbox: SandboxRecord, count: number) => ({
  sandbox,
  limits: NO_CAP,
  events: Array.from({ length: count }, () => eventDraft({ sandbox_id: sandbox.id })),
});

it('rolls back only the write that fails', async () => {
  const { store, path } = await opened();
  const rows = Array.from({ length: 20 }, () => sandboxRecord());
  const claim = { scope: 's', key: 'k', fingerprint: 'f' };
  const [again] = rows;
  const results = await Promise.allSettled([
    ...rows.slice(0, 10).map((row) => store.sandboxes.reserve(order(row, 2))),
    // The row is there already: its claim and its events must not stay.
    store.sandboxes.reserve({ ...order(again!, 1), claim }),
    ...rows.slice(10).map((row) => store.sandboxes.reserve(order(row, 1))),
  ]);
  expect(results.map(({ status }) => status)).toEqual(
    rows.flatMap((_, n) => (n === 10 ? ['rejected', 'fulfilled'] : ['fulfilled'])),
  );
  expect(results[10]).toMatchObject({ reason: { code: 'conflict' } });
  expect(await store.idempotency.find(claim)).toBeUndefined();
  const kept = await store.events.since(0, 100);
  expect(kept.map(({ sandbox_id }) => sandbox_id)).toEqual(
    rows.flatMap(({ id }, n) => (n < 10 ? [id, id] : [id])),
  );
  const db = new Sqlite(path, { readonly: true });
  onTestFinished(() => void db.close());
  expect(db.prepare('SELECT reserved_through >= max(id) FROM event_ids, events').pluck().get()).toBe(1);
});

it('never reuses an event id of a failed write, also beyond a reserved block', async () => {
  const { store } = await opened();
  const row = sandboxRecord();
  await store.sandboxes.reserve(order(row, 1));
  const others = Array.from({ length: 3 }, () => sandboxRecord());
  const [first, ...later] = others.map((other) => order(other, 1));
  await Promise.allSettled([
    store.sandboxes.reserve(first!),
    store.sandboxes.reserve(order(row, 10_001)),
    ...later.map((one) => store.sandboxes.reserve(one)),
  ]);
  const kept = (await store.events.since(0, 10)).slice(1);
  expect(kept.map(({ sandbox_id }) => sandbox_id)).toEqual(others.map(({ id }) => id));
  const ids = kept.map(({ id }) => id);
  expect(new Set(ids).size).toBe(3);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
});

it('writes one by one when the transaction of the group is lost', async () => {
  const { store, path } = await opened();
  const db = new Sqlite(path);
  onTestFinished(() => void db.close());
  // What SQLite does by itself when there is no space: the transaction is gone, not the statement alone.
  db.exec(
    `CREATE TRIGGER lost BEFORE INSERT ON sandboxes WHEN NEW.image = 'doomed' BEGIN SELECT RAISE(ROLLBACK, 'lost'); END`,
  );
  const rows = ['host', 'doomed', 'host', 'host'].map((image) => sandboxRecord({ image }));
  const results = await Promise.allSettled(
    [sandboxRecord(), ...rows].map((row) =>
      store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [eventDraft()] }),
    ),
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

it('shows acknowledged writes to reads, also for a cached row', async () => {
  const { store } = await opened();
  const rows = Array.from({ length: 30 }, () => sandboxRecord());
  await Promise.all(rows.map((row) => store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] })));
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
