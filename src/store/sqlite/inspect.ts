// Describes a database file as far as it is readable. Tables are counted only if the schema matches its version: a
// hostile file could otherwise have an endless view under a table's name.
import type { Database } from 'better-sqlite3';
import type { DatabaseFacts, TableFacts } from '../../schema/db-report.ts';
import { storeFailure } from './failures.ts';
import { APPLICATION_ID, SCHEMA_VERSION, schemaVersion } from './migrate.ts';
import { fileOf, walBytes, withReader } from './reader.ts';
import { schemaDifferences } from './schema-differences.ts';

/** Describes the file at `path` without changing it. Throws like `withReader`. */
export function inspectDatabase(path: string): DatabaseFacts {
  return withReader(path, (db) => databaseFacts(db, path));
}

export function databaseFacts(db: Database, path: string): DatabaseFacts {
  const inside = contents(db);
  return {
    file: path,
    size_bytes: fileOf(path).size,
    wal_bytes: walBytes(path),
    known_schema_version: SCHEMA_VERSION,
    ...inside,
  };
}

type Contents = Pick<DatabaseFacts, 'ours' | 'schema_version' | 'instance' | 'tables'>;

function contents(db: Database): Contents {
  const known: Contents = { ours: false, schema_version: 0, tables: [] };
  try {
    // One transaction, so that all tables are counted at the same time while a server writes.
    db.transaction(() => {
      known.ours = isOurs(db);
      known.schema_version = schemaVersion(db);
      if (!known.ours || schemaDifferences(db).length > 0) return;
      known.instance = instanceOf(db) ?? '';
      known.tables = tableFacts(db);
    })();
  } catch (error) {
    const failure = storeFailure(error);
    if (failure.code !== 'internal') throw failure;
  }
  return known;
}

export const isOurs = (db: Database) => db.pragma('application_id', { simple: true }) === APPLICATION_ID;

export const instanceOf = (db: Database) => db.prepare<[], string>('SELECT id FROM instance').pluck().get();

/** Sorted by name. Time grows with the number of rows. */
export function tableFacts(db: Database): TableFacts[] {
  const names = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name",
    )
    .pluck()
    .all();
  return names.map((name) => factsOf(db, name));
}

export const rowsOf = (tables: readonly TableFacts[]): number =>
  tables.reduce((rows, table) => rows + table.rows, 0);

function factsOf(db: Database, name: string): TableFacts {
  const columns = (db.pragma(`table_info(${name})`) as { name: string }[]).map((column) => column.name);
  const stamp = ['created_at', 'timestamp'].find((column) => columns.includes(column));
  const bounds = stamp === undefined ? '' : `, min(${stamp}) AS oldest, max(${stamp}) AS newest`;
  const { rows, oldest, newest } = db
    .prepare<[], { rows: number; oldest?: string | null; newest?: string | null }>(
      `SELECT count(*) AS rows${bounds} FROM ${name}`,
    )
    .get() ?? { rows: 0 };
  return { name, rows, ...(oldest && { oldest }), ...(newest && { newest }) };
}
