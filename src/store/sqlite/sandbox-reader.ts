// From ids to rows: those that are known as they are, the others from the database in one statement.
import type { Database } from 'better-sqlite3';
import type { SandboxRecord } from '../store.ts';
import type { RowCache } from './row-cache.ts';
import { fromRowText, SANDBOX_ROW_TEXT } from './rows.ts';

/** In the order of the ids; those that are not there are left out. */
export function sandboxReader(db: Database, known: RowCache): (ids: readonly string[]) => SandboxRecord[] {
  const read = db
    .prepare<[string], string>(
      `SELECT ${SANDBOX_ROW_TEXT} FROM sandboxes WHERE id IN (SELECT value FROM json_each(?))`,
    )
    .pluck();
  return (ids) => {
    const rows = ids.map((id) => known.get(id));
    const unknown = ids.filter((_, at) => rows[at] === undefined);
    if (unknown.length === 0) return rows as SandboxRecord[];
    const fresh = new Map<string, SandboxRecord>();
    for (const text of read.all(JSON.stringify(unknown))) {
      const row = fromRowText(text);
      fresh.set(row.id, row);
      known.add(row, text.length);
    }
    return rows.flatMap((row, at) => row ?? fresh.get(ids[at] ?? '') ?? []);
  };
}
