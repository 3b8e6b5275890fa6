// What a database file is said to be, and to be worth.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { inspectFile, verifyFile } from '../../../../src/ops/db/inspect.ts';
import { migrate, SCHEMA_VERSION } from '../../../../src/store/sqlite/migrate.ts';
import { contentOf, makeDatabase, makeUnclosed, openStore } from '../../../support/databases.ts';
import {
  eventDraft,
  keyRecord,
  NO_CAP,
  sandboxRecord,
  stamp,
  templateRecord,
} from '../../../support/records.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const failed = async (path: string) =>
  (await verifyFile(path)).checks.filter(({ problems }) => problems.length > 0).map(({ id }) => id);

it.each([
  ['a closed database', makeDatabase],
  ['a database that a killed server left', makeUnclosed],
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

it('reads a database that a server uses', async () => {
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
])('finds the problem of %s: %s', async (id, sql) => {
  const path = await makeDatabase(join(temporaryFolder(), 'svc.db'));
  const db = new Sqlite(path);
  db.exec(sql);
  db.close();
  expect(await failed(path)).toEqual([id]);
  expect(await inspectFile(path)).toMatchObject({ file: path });
});

it.each([
  ['sandboxes', "id = '../../etc'", 'id is not an id'],
  ['sandboxes', "owner_id = 'a b'", 'owner_id is not the name of an owner'],
  ['sandboxes', "state = 'gone'", 'state is not one of creating'],
  ['sandboxes', "metadata = '{}'", 'metadata is not a map'],
  ['sandboxes', 'metadata = \'[["a",1]]\'', 'metadata is not a map'],
  ['sandboxes', "metadata = 'x'", 'metadata is not a map'],
  ['sandboxes', 'env = \'[["A=B","c"]]\'', 'env is not a map'],
  ['sandboxes', "expires_at = 'tomorrow'", 'expires_at is not a time'],
  ['sandboxes', 'memory_mb = -1', 'memory_mb is not from 1'],
  ['sandboxes', 'image = CAST(zeroblob(1000000) AS TEXT)', 'image does not have'],
  ['owner_quotas', "owner_id = 'a/b'", 'owner_id is not the name of an owner'],
  ['owner_quotas', "max_ttl = 'long'", 'max_ttl is not a duration'],
  ['owner_quotas', "max_ttl = '8760h1s'", 'max_ttl is not a duration'],
  ['owner_quotas', 'max_sandboxes = -1', 'max_sandboxes is not from 0'],
  ['keys', "hash = 'svc_0123'", 'hash is not a SHA-256'],
  ['keys', 'scopes = \'["root"]\'', 'scopes is not one of'],
  ['keys', "owner_id = 'a/b'", 'owner_id is not the name of an owner'],
  ['keys', "name = 'A B'", 'name is not the name of a key'],
  ['templates', "name = 'Not A Name'", 'name is not the name of a template'],
  ['templates', "owner_id = '/'", 'owner_id is not the name of an owner'],
  ['templates', "setup = '[1]'", 'setup is not a JSON array'],
  ['templates', 'prewarm = 1000000', 'prewarm is not from 0 to 1000'],
  ['workers', "rpc_url = 'file:///etc/passwd'", 'rpc_url is not a URL'],
  ['workers', "providers = '7'", 'providers is not a JSON array'],
  ['events', "data = '[]'", 'data is not a JSON object'],
])('finds a row of %s that the API would refuse: %s', async (table, wrong, words) => {
  const path = await withRows(join(temporaryFolder(), 'svc.db'));
  expect(await failed(path)).toEqual([]);
  const db = new Sqlite(path);
  db.exec(
    `UPDATE ${table} SET ${wrong} WHERE rowid = (SELECT min(rowid) FROM ${table})`.replace(
      ['owner_quotas', 'keys'].includes(table) ? / WHERE.*/ : /$^/,
      '',
    ),
  );
  db.close();
  const { checks } = await verifyFile(path);
  expect(checks.at(-1)).toMatchObject({ id: 'rows', problems: [expect.stringContaining(words)] });
  expect(checks.at(-1)?.problems[0]).toMatch(new RegExp(`^${table}, row `));
});

/** With a row in every table whose rows the API writes. */
async function withRows(path: string): Promise<string> {
  const store = await openStore(path);
  const heard = { hostname: 'h', providers: ['userspace'], rpc_url: 'https://w:1/x' };
  await store.sandboxes.reserve({
    sandbox: sandboxRecord({ owner_id: 'ann@x.é', metadata: { k: 'v' }, env: { A: 'b' } }),
    limits: NO_CAP,
    events: [eventDraft({ data: { a: 1 } })],
  });
  await store.templates.create(templateRecord({ owner_id: 'ann', setup: ['true'] }), { most: 9, ofOwner: 9 });
  await store.quotas.put(
    {
      owner_id: 'ann',
      max_sandboxes: 1,
      max_ttl: '8760h',
      max_exec_timeout: '0s',
      created_at: stamp(),
      updated_at: stamp(),
    },
    [],
  );
  await store.keys.create(keyRecord({ owner_id: 'ann' }), { most: 9, most_of_owner: 9 });
  await store.workers.heard('w', heard, stamp(), { most: 9 });
  await store.close();
  return path;
}

it('finds damaged pages', async () => {
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
