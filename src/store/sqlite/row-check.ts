// Checks that the rows are valid: one pass over each table inside SQLite, which holds one row at a time.
import type { Database } from 'better-sqlite3';
import { isOurs } from './inspect.ts';
import { ROW_RULES } from './row-rules.ts';
import { schemaDifferences } from './schema-differences.ts';

/** Rows of one table, and of all. */
const MOST_NAMED = 20;
/** A longer key is shown by its size. */
const LONGEST_KEY = 600;

/**
 * Makes one statement for each table; it returns a sentence for each invalid row. Statements use REGEXP (`matcher`).
 * Empty for a database with other tables than those of its version.
 */
export function rowStatements(db: Database): string[] {
  if (!isOurs(db) || schemaDifferences(db).length > 0) return [];
  return Object.entries(ROW_RULES).flatMap(([table, { key, columns }]) => {
    const known = new Set(
      db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table),
    );
    const cases = Object.entries(columns)
      .filter(([column]) => known.has(column))
      .map(([column, { sql, words }]) => {
        const sentence = `${column} ${words}.`.replaceAll("'", "''");
        return `WHEN NOT coalesce(${sql(column)}, 0) THEN '${sentence}'`;
      });
    return known.size === 0 ? [] : [statement(table, key, cases)];
  });
}

function statement(table: string, key: string, cases: string[]): string {
  const name = `iif(octet_length(${key}) <= ${LONGEST_KEY}, ${key}, 'with a key of ' || octet_length(${key}) || ' bytes')`;
  return `SELECT '${table}, row ' || row || ': ' || wrong
    FROM (SELECT ${name} AS row, CASE ${cases.join('\n')} END AS wrong FROM ${table})
    WHERE wrong IS NOT NULL LIMIT ${MOST_NAMED}`;
}

/** Sentences, at most 20. Blocks until it is done. */
export function wrongRows(db: Database): string[] {
  db.function('regexp', { deterministic: true }, matcher());
  return rowStatements(db)
    .flatMap((sql) => db.prepare<[], string>(sql).pluck().all())
    .slice(0, MOST_NAMED);
}

/** REGEXP of SQL as a Unicode-aware regular expression, for `Database.function`. Its text also runs in another process: it refers to nothing outside itself. */
export function matcher(): (pattern: unknown, value: unknown) => number {
  const known = new Map<unknown, RegExp>();
  return (pattern, value) => {
    const regexp = known.get(pattern) ?? new RegExp(String(pattern), 'u');
    known.set(pattern, regexp);
    return Number(regexp.test(String(value)));
  };
}
