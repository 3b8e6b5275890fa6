// Reads a database file without a server and without changing it, for `svc doctor` and support bundles. Every function throws
// `not_found` if the file does not exist, and errors of the store. A database with an older schema lacks some tables and columns.
import type { Database } from 'better-sqlite3';
import type { Event } from '../../schema/event.ts';
import type { KeyScope } from '../../schema/key-words.ts';
import type { KnownRuntimes, TemplateImage, ValidKey } from '../offline-records.ts';
import { type EventRow, fromEventRow, parse } from '../rows.ts';
import { isOurs } from './inspect.ts';
import { withReader } from './reader.ts';
import { schemaDifferences } from './schema-differences.ts';

/** A VM of a pool keeps one epoch for its lifetime. */
const SOURCES: Readonly<Record<string, string>> = {
  sandboxes: "SELECT id || '.' || epoch FROM sandboxes WHERE state NOT IN ('destroyed', 'error')",
  warm_sandboxes: "SELECT id || '.' || epoch FROM warm_sandboxes",
  pool_vms: "SELECT id || '.1' FROM pool_vms",
};

/** The runtimes that the database knows: any other is a leftover. Undefined if no server has used the database yet. */
export function readKnownRuntimes(path: string): KnownRuntimes | undefined {
  return withReader(path, (db) => {
    const tables = new Set(db.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all());
    if (!tables.has('instance')) return undefined;
    const instance = db.prepare<[], KnownRuntimes['instance']>('SELECT id, key FROM instance').get();
    return instance && { instance, names: namesOf(db, tables), expires_at: endsOf(db, tables) };
  });
}

function namesOf(db: Database, tables: ReadonlySet<string>): Set<string> {
  const present = Object.entries(SOURCES).filter(([table]) => tables.has(table));
  return new Set(present.flatMap(([, sql]) => db.prepare<[], string>(sql).pluck().all()));
}

function endsOf(db: Database, tables: ReadonlySet<string>): Map<string, string> {
  if (!tables.has('sandboxes')) return new Map();
  const rows = db
    .prepare<[], { name: string; expires_at: string }>(
      "SELECT id || '.' || epoch AS name, expires_at FROM sandboxes WHERE state NOT IN ('destroyed', 'error')",
    )
    .all();
  return new Map(rows.map(({ name, expires_at }) => [name, expires_at]));
}

/** The newest events, oldest first; empty if the file is not a database of this service. */
export function newestEvents(path: string, limit: number): Event[] {
  return withReader(path, (db) => {
    if (!isOurs(db) || schemaDifferences(db).length > 0) return [];
    const rows = db
      .prepare<[number], EventRow>(
        'SELECT id, type, timestamp, sandbox_id, owner_id, actor, data FROM events ORDER BY id DESC LIMIT ?',
      )
      .all(limit);
    return rows.reverse().map(fromEventRow);
  });
}

/**
 * Names, in order, of shared templates that carry an environment: every owner can read it in a sandbox of the template.
 * Before schema version 7 all templates were shared.
 */
export function readSharedSecrets(path: string): string[] {
  return withReader(path, (db) => {
    const columns = db.prepare<[], string>("SELECT name FROM pragma_table_info('templates')").pluck().all();
    if (columns.length === 0) return [];
    const shared = columns.includes('owner_id') ? "AND owner_id = ''" : '';
    return db
      .prepare<[], string>(`SELECT name FROM templates WHERE env <> '[]' ${shared} ORDER BY name`)
      .pluck()
      .all();
  });
}

/** The images that stored templates name, sorted by name of the template. */
export function readTemplateImages(path: string): TemplateImage[] {
  return withReader(path, (db) => {
    const hasTable = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'templates'").get() !== undefined;
    if (!hasTable) return [];
    return db.prepare<[], TemplateImage>('SELECT name, image, provider FROM templates ORDER BY name').all();
  });
}

/** The named keys that are neither revoked nor expired at `now` (ms since 1970), sorted by name. */
export function readValidKeys(path: string, now: number): ValidKey[] {
  return withReader(path, (db) => {
    const hasTable = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'keys'").get() !== undefined;
    if (!hasTable || !isOurs(db)) return [];
    return db
      .prepare<[string], Omit<ValidKey, 'scopes'> & { scopes: string }>(
        `SELECT name, scopes, created_at, expires_at, last_used_at FROM keys
           WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY name`,
      )
      .all(new Date(now).toISOString())
      .map((row) => Object.assign(row, { scopes: parse(row.scopes) as KeyScope[] }));
  });
}
