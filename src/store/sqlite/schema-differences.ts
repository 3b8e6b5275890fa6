// Whether a database has exactly the tables, indexes and triggers that the migrations up to its version make. What is
// more or other was put there by somebody else, and could run when the service writes.
import type { Database } from 'better-sqlite3';
import { migrate, SCHEMA_VERSION, schemaVersion } from './migrate.ts';
import Sqlite from './sqlite.ts';

const MOST_NAMED = 20;

/** Sentences, at most 20; none for a database as the migrations leave it. Only for versions that this program knows. */
export function schemaDifferences(db: Database): string[] {
  const version = schemaVersion(db);
  if (version < 1 || version > SCHEMA_VERSION) return [`Schema version ${version} is not known.`];
  const expected = schemaOf(version);
  const found = objectsOf(db);
  const missing = [...expected].filter(([name]) => !found.has(name)).map(([name]) => `${name} is missing.`);
  const other = [...found].flatMap(([name, sql]) => {
    if (!expected.has(name)) return [`${shown(name)} does not belong there.`];
    return expected.get(name) === sql ? [] : [`${name} is not as it was made.`];
  });
  return [...missing, ...other].slice(0, MOST_NAMED);
}

function schemaOf(version: number): Map<string, string> {
  const model = new Sqlite(':memory:');
  try {
    migrate(model, version);
    return objectsOf(model);
  } finally {
    model.close();
  }
}

/** `table sandboxes` → its SQL. SQLite's own tables (statistics, sequences) come and go. */
function objectsOf(db: Database): Map<string, string> {
  const rows = db
    .prepare<[], { type: string; name: string; sql: string | null }>(
      `SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~' LIMIT 10000`,
    )
    .all();
  return new Map(rows.map(({ type, name, sql }) => [`${type} ${name}`, String(sql)]));
}

const shown = (name: string) => (name.length > 80 ? `${name.slice(0, 80)}…` : name);
