// What a database file is said to be, and to be worth.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { inspectFile, verifyFile } from '../../../../src/ops/db/inspect.ts';
import { migrate, SCHEMA_VERSION } from '../../../../src/store/sqlite/migrate.ts';
import { contentOf, makeDatabase, makeUnclosed, openStore } from '../../../support/databases.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const failed = async (path: string) =>
  (await verifyFile(path)).checks.filter(({ problems }) => problems.length > 0).map(({ id }) => id);

it.each([
  ['a closed database', makeDatabase],
  ['one that a killed server left', makeUnclosed],
])('counts %s and changes nothing', async (_, make) => {
  const path = await make(join(temporaryFolder(), 'svc.db'), 'x', 12);
  const before = contentOf(join(path, '..'));
  const facts = await inspectFile(path);
  expect(facts).toMatchObject({ ours: true, schema_version: SCHEMA_VERSION, instance: expect.any(String) });
  expect(facts.tables.find(({ name }) => name === 'sandboxes')).toEqual({
    name: 'sandboxes',
    rows: 12,
    oldest: expect.any(String),
    newest: expect.any(String),
  });
  expect(await verifyFile(path)).toMatchObject({ ok: true });
  const { 'svc.db-shm': _shm, ...after } = contentOf(join(path, '..'));
  expect(after).toEqual(before);
});

it('looks into a database that a server holds', async () => {
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openStore(path);
  expect(await verifyFile(path)).toMatchObject({ ok: true });
  await store.close();
});

it.each(Array.from({ length: SCHEMA_VERSION }, (_, n) => n + 1))(
  'knows schema version %d',
  async (version) => {
    const path = join(temporaryFolder(), 'svc.db');
    const db = new Sqlite(path);
    migrate(db, version);
    db.exec("INSERT INTO instance VALUES ('i', 'k', '2026-01-01T00:00:00.000Z')");
    db.close();
    expect(await verifyFile(path)).toMatchObject({ ok: true, facts: { schema_version: version } });
  },
);

it.each([
  ['identity', 'PRAGMA application_id = 1'],
  ['identity', 'PRAGMA user_version = 99'],
  ['identity', 'PRAGMA user_version = -1'],
  ['schema', 'CREATE TABLE more (x)'],
  ['schema', 'DROP INDEX sandboxes_by_age'],
  [
    'schema',
    'DROP TABLE pool_uids; CREATE VIEW pool_uids AS WITH RECURSIVE e(n) AS (SELECT 1 UNION ALL SELECT n FROM e) SELECT n AS given FROM e',
  ],
  ['counters', 'UPDATE active_counts SET active = active + 1'],
  ['counters', 'DELETE FROM active_counts'],
  ['counters', 'UPDATE event_ids SET reserved_through = 0'],
  ['counters', 'DELETE FROM instance'],
])('finds what is wrong with %s: %s', async (id, sql) => {
  const path = await makeDatabase(join(temporaryFolder(), 'svc.db'));
  const db = new Sqlite(path);
  db.exec(sql);
  db.close();
  expect(await failed(path)).toEqual([id]);
  expect(await inspectFile(path)).toMatchObject({ file: path });
});

it('finds pages that are not what they were', async () => {
  const path = await makeDatabase(join(temporaryFolder(), 'svc.db'), 'x', 300);
  const bytes = readFileSync(path);
  writeFileSync(path, Buffer.from(bytes).fill(0xff, bytes.length - 4096));
  expect(await failed(path)).toEqual(['integrity']);
  writeFileSync(path, bytes.subarray(0, bytes.length - 4096));
  expect(await failed(path)).toHaveLength(1);
  writeFileSync(path, 'no database at all'.repeat(100));
  expect(await failed(path)).toEqual(['identity']);
  expect(await inspectFile(path)).toMatchObject({ ours: false, tables: [] });
});
