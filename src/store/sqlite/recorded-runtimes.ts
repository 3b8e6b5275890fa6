// Reads the runtimes that a database knows, without a server and without changing the file. Any other runtime is a
// leftover. A database with an older schema lacks some of the tables.
import type { Database } from 'better-sqlite3';
import type { Instance } from '../store.ts';
import { withReader } from './reader.ts';

export interface KnownRuntimes {
  instance: Pick<Instance, 'id' | 'key'>;
  /** `<id>.<epoch>` of every row that may have a runtime. */
  names: ReadonlySet<string>;
}

/** A VM of a pool keeps one epoch for its lifetime. */
const SOURCES: Readonly<Record<string, string>> = {
  sandboxes: "SELECT id || '.' || epoch FROM sandboxes WHERE state NOT IN ('destroyed', 'error')",
  warm_sandboxes: "SELECT id || '.' || epoch FROM warm_sandboxes",
  pool_vms: "SELECT id || '.1' FROM pool_vms",
};

/**
 * Throws `not_found` if there is no file, otherwise like the store. Undefined for a database that no server has used
 * yet.
 */
export function readKnownRuntimes(path: string): KnownRuntimes | undefined {
  return withReader(path, (db) => {
    const tables = new Set(db.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all());
    if (!tables.has('instance')) return undefined;
    const instance = db.prepare<[], KnownRuntimes['instance']>('SELECT id, key FROM instance').get();
    return instance && { instance, names: namesOf(db, tables) };
  });
}

function namesOf(db: Database, tables: ReadonlySet<string>): Set<string> {
  const present = Object.entries(SOURCES).filter(([table]) => tables.has(table));
  return new Set(present.flatMap(([, sql]) => db.prepare<[], string>(sql).pluck().all()));
}
