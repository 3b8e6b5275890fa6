// The schema of PostgreSQL beside that of SQLite, and its migration by several processes at once.
import Sqlite from 'better-sqlite3';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { parseAddress } from '../../src/domain/database-address.ts';
import { Connection } from '../../src/store/postgres/connection.ts';
import { type MigrateOptions, migrate, SCHEMA_VERSION } from '../../src/store/postgres/migrate.ts';
import {
  migrate as migrateSqlite,
  SCHEMA_VERSION as SQLITE_VERSION,
} from '../../src/store/sqlite/migrate.ts';
import { quickClock } from '../support/fakes/quick-clock.ts';
import {
  administer,
  type PostgresServer,
  sharedPostgres,
  temporaryDatabase,
  urlOf,
} from '../support/hosts/postgres.ts';
import { stamp } from '../support/records.ts';
import { describeWith } from '../support/requires.ts';

interface Column {
  name: string;
  type: string;
  optional: boolean;
}
interface Index {
  columns: string[];
  unique: boolean;
  partial: boolean;
}
interface Table {
  columns: Column[];
  key: string[];
  indexes: Index[];
}
type Schema = Record<string, Table>;

/** Tables and columns that only one of them has, with the reason. */
const ONLY_POSTGRES: Readonly<Record<string, readonly string[] | 'all'>> = {
  // The version, which SQLite keeps in the file's header.
  schema_facts: 'all',
  // Commits behind repeated writes.
  confirmations: 'all',
  // Writes that have no other mark of their own.
  finished_writes: 'all',
  // Events that have no id yet.
  outbox: 'all',
  event_ids: 'all',
  // Several processes share the database.
  replicas: 'all',
  roles: 'all',
  // Spawns that wait: one process has them in memory.
  tickets: 'all',
  ticket_owners: 'all',
  // Runtimes of services that name them: one process has them in memory.
  held_runtimes: 'all',
  // The time that several processes agree on.
  shared_time: 'all',
  // The write that made a row, for its repetition.
  sandboxes: ['change'],
  warm_sandboxes: ['change'],
  audit: ['eid'],
  events: ['eid', 'is_last'],
  // Counts by worker, and in slots for concurrent writers.
  active_counts: ['worker_id', 'slot'],
};
const ONLY_SQLITE = ['event_ids'];

function sqliteSchema(): Schema {
  const db = new Sqlite(':memory:');
  migrateSqlite(db);
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck();
  const schema = Object.fromEntries(tables.all().map((table) => [table, sqliteTable(db, table)]));
  db.close();
  return schema;
}

interface PragmaColumn {
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

function sqliteTable(db: Sqlite.Database, table: string): Table {
  const columns = db.pragma(`table_info(${table})`) as PragmaColumn[];
  const lists = db.pragma(`index_list(${table})`) as {
    name: string;
    unique: number;
    origin: string;
    partial: number;
  }[];
  const types: Record<string, string> = { TEXT: 'text', INTEGER: 'integer', REAL: 'real' };
  return {
    columns: columns.map(({ name, type, notnull, pk }) => ({
      name,
      type: types[type]!,
      optional: notnull === 0 && pk === 0,
    })),
    key: columns
      .filter(({ pk }) => pk > 0)
      .sort((a, b) => a.pk - b.pk)
      .map(({ name }) => name),
    indexes: lists
      .filter(({ origin }) => origin !== 'pk')
      .map(({ name, unique, partial }) => ({
        columns: (db.pragma(`index_info(${name})`) as { name: string }[]).map((column) => column.name),
        unique: unique === 1,
        partial: partial === 1,
      })),
  };
}

async function postgresSchema(server: PostgresServer, database: string): Promise<Schema> {
  const columns = await administer<{ table: string; name: string; type: string; optional: boolean }>(
    server,
    `SELECT table_name AS table, column_name AS name, is_nullable = 'YES' AS optional,
       CASE data_type WHEN 'bigint' THEN 'integer' WHEN 'double precision' THEN 'real' ELSE data_type END AS type
     FROM information_schema.columns WHERE table_schema = 'public' ORDER BY ordinal_position`,
    database,
  );
  const indexes = await administer<{
    table: string;
    columns: string[];
    unique: boolean;
    partial: boolean;
    key: boolean;
  }>(
    server,
    `SELECT t.relname AS table, i.indisunique AS unique, i.indisprimary AS key, i.indpred IS NOT NULL AS partial,
       (SELECT json_agg(a.attname ORDER BY k.at) FROM unnest(i.indkey) WITH ORDINALITY AS k (number, at)
          JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number) AS columns
     FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid WHERE t.relnamespace = 'public'::regnamespace`,
    database,
  );
  const schema: Schema = {};
  for (const { table, ...column } of columns) {
    schema[table] ??= { columns: [], key: [], indexes: [] };
    schema[table].columns.push(column);
  }
  for (const { table, key, ...index } of indexes)
    if (key) schema[table]!.key = index.columns;
    else schema[table]!.indexes.push(index);
  return schema;
}

const orderOf = ({ columns, unique, partial }: Index) => `${columns} ${unique} ${partial}`;

/** What both should have, in one order. */
function comparable(schema: Schema): Schema {
  const shared = Object.entries(schema).filter(
    ([table]) => ONLY_POSTGRES[table] !== 'all' && !ONLY_SQLITE.includes(table),
  );
  return Object.fromEntries(
    shared
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { columns, key, indexes }]) => {
        const extra = ONLY_POSTGRES[name] ?? [];
        const isShared = (column: string) => !extra.includes(column);
        const table = {
          columns: columns
            .filter((column) => isShared(column.name))
            .sort((a, b) => (a.name < b.name ? -1 : 1)),
          key: key.filter(isShared),
          indexes: indexes
            .filter((index) => index.columns.every(isShared) && !(name === 'events' && index.partial))
            .sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)),
        };
        return [name, table];
      }),
  );
}

describeWith(['postgres'], 'the schema of PostgreSQL', () => {
  let server: PostgresServer;
  let database: string;
  beforeEach(async () => {
    server = await sharedPostgres();
    database = await temporaryDatabase(server);
  });
  const options: MigrateOptions = {
    program: '0.0.0-test',
    instance: { id: 'i1', key: '00', created_at: stamp() },
    monotonic: () => performance.now(),
  };
  async function migrated(more: Partial<MigrateOptions> = {}, name = database): Promise<void> {
    const address = parseAddress(urlOf(name, server.port));
    const connection = await Connection.dial(address.hosts[0], {
      address,
      clock: quickClock(),
      prepare: true,
    });
    try {
      await migrate(connection, { ...options, ...more });
    } finally {
      connection.destroy();
    }
  }

  it('has the version, tables, columns, keys and indexes of SQLite, apart from a declared list', async () => {
    await migrated();
    expect(SCHEMA_VERSION).toBe(SQLITE_VERSION);
    expect(comparable(await postgresSchema(server, database))).toEqual(comparable(sqliteSchema()));
  });

  it('is migrated once by three processes that start together', async () => {
    await Promise.all([migrated(), migrated(), migrated()]);
    await migrated();
    const facts = await administer(server, 'SELECT version, program FROM schema_facts', database);
    expect(facts).toEqual([{ version: SCHEMA_VERSION, program: '0.0.0-test' }]);
    expect(await administer(server, 'SELECT last::int FROM event_ids', database)).toEqual([{ last: 0 }]);
  });

  it('keeps the rows of version 17, whose functions go on without the new columns', async () => {
    const ask = <T extends object>(text: string) => administer<T>(server, text, database);
    const template = {
      owner_id: '',
      description: null,
      version: 1,
      image: 'host',
      memory_mb: 1,
      vcpus: 1,
      ttl: '1m',
    };
    const texts = {
      metadata: '[]',
      env: '[]',
      setup: '[]',
      prewarm: 0,
      created_at: stamp(),
      updated_at: stamp(),
    };
    const create = (name: string, version: number, more: object = {}) => {
      const record = JSON.stringify({ ...template, ...texts, ...more, name });
      return ask(
        `SELECT kind FROM svc_create_template_${version}('${record}'::jsonb, 9, 9, '${name}', false)`,
      );
    };
    const heartbeat = (version: number, body: object) =>
      ask(
        `SELECT svc_claimed_heartbeat_${version}('w', '${JSON.stringify(body)}', '${stamp()}', 9, NULL, NULL)`,
      );
    await migrated({ to: 17 });
    await create('before', 17);
    await heartbeat(17, { hostname: 'h' });
    await migrated();
    await create('old', 17);
    await create('new', 18, { worker_id: 'w', worker_labels: '{"a":"b"}' });
    expect(
      await ask('SELECT name, worker_id, worker_labels FROM templates ORDER BY created_at, name'),
    ).toEqual([
      { name: 'before', worker_id: null, worker_labels: '{}' },
      { name: 'new', worker_id: 'w', worker_labels: '{"a":"b"}' },
      { name: 'old', worker_id: null, worker_labels: '{}' },
    ]);
    expect(await ask('SELECT labels FROM workers')).toEqual([{ labels: '{}' }]);
    await heartbeat(18, { labels: '{"a":"b"}' });
    await heartbeat(17, { hostname: 'h2' });
    await heartbeat(18, { status: 'online' });
    expect(await ask('SELECT hostname, labels FROM workers')).toEqual([
      { hostname: 'h2', labels: '{"a":"b"}' },
    ]);
  });

  it('refuses tables of another program, and a version that does not work with this one', async () => {
    await administer(server, 'CREATE TABLE theirs (a integer)', database);
    await expect(migrated()).rejects.toMatchObject({ code: 'conflict' });
    await administer(server, 'DROP TABLE theirs', database);
    await migrated();
    await administer(server, `UPDATE schema_facts SET version = ${SCHEMA_VERSION + 5}`, database);
    await migrated();
    await administer(server, `UPDATE schema_facts SET works_with = ${SCHEMA_VERSION + 1}`, database);
    await expect(migrated()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('needs'),
    });
  });

  it('says which setting is wrong where no schema is on the search path', async () => {
    await administer(server, `ALTER DATABASE ${database} SET search_path = 'nowhere'`);
    await expect(migrated()).rejects.toMatchObject({
      error: { code: 'unavailable', message: expect.stringContaining('search_path') },
    });
  });

  it('refuses an empty database that cannot store every text', async () => {
    const latin = `${database}_latin`;
    await administer(server, `CREATE DATABASE ${latin} TEMPLATE template0 ENCODING 'LATIN1'`);
    onTestFinished(async () => {
      await administer(server, `DROP DATABASE ${latin} WITH (FORCE)`);
    });
    await expect(migrated({}, latin)).rejects.toMatchObject({
      code: 'conflict',
      message: 'The database has the encoding LATIN1; this service needs UTF8.',
    });
  });

  it('leaves nothing of a migration that fails', async () => {
    await administer(
      server,
      'CREATE FUNCTION svc_count_sandbox() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$',
      database,
    );
    await expect(migrated()).rejects.toThrow();
    expect(await postgresSchema(server, database)).toEqual({});
  });
});
