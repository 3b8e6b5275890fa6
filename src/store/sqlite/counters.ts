// Carries over counters that never repeat a number when an older copy of the database is restored: readers of events
// hold newer ids, and VMs of the pool outlive the restore with newer uids.
import type { Database } from 'better-sqlite3';
import type { ServiceError } from '../../domain/errors.ts';
import { storeFailure } from './failures.ts';
import { instanceOf, isOurs } from './inspect.ts';
import { withReader } from './reader.ts';
import { schemaDifferences } from './schema-differences.ts';
import Sqlite from './sqlite.ts';

const COUNTERS = [
  { table: 'event_ids', column: 'reserved_through', where: '' },
  { table: 'pool_uids', column: 'given', where: '' },
  { table: 'sqlite_sequence', column: 'seq', where: " WHERE name = 'audit'" },
] as const;

/** The counters of one instance; a table that the schema lacks is absent. */
export interface Counters {
  instance: string;
  values: Record<string, number>;
}

/** Undefined if it is not an intact database of this service. */
export function readCounters(path: string): Counters | undefined {
  try {
    return withReader(path, counters);
  } catch (error) {
    if ((error as ServiceError).code === 'internal') return undefined;
    throw error;
  }
}

function counters(db: Database): Counters | undefined {
  if (!isOurs(db) || schemaDifferences(db).length > 0) return undefined;
  const instance = instanceOf(db);
  return instance === undefined ? undefined : { instance, values: valuesOf(db) };
}

/** Raises the counters of the database at `path`, which no process has open, to at least `counters`. */
export function raiseCounters(path: string, counters: Counters): void {
  const db = new Sqlite(path, { fileMustExist: true, timeout: 0 });
  try {
    db.pragma('trusted_schema = OFF');
    db.transaction(() => {
      for (const { table, column, where } of COUNTERS) {
        const value = counters.values[table];
        if (value !== undefined && hasTable(db, table))
          db.prepare(`UPDATE ${table} SET ${column} = max(${column}, ?)${where}`).run(value);
      }
    })();
  } catch (error) {
    throw storeFailure(error);
  } finally {
    db.close();
  }
}

function valuesOf(db: Database): Record<string, number> {
  const present = COUNTERS.filter(({ table }) => hasTable(db, table));
  const entries = present.map(({ table, column, where }) => [
    table,
    db.prepare<[], number>(`SELECT ${column} FROM ${table}${where}`).pluck().get() ?? 0,
  ]);
  return Object.fromEntries(entries);
}

const hasTable = (db: Database, name: string) =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined;
