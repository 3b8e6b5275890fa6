// The last events of a database file, for who looks at it from outside, also when no server runs.
import type { Event } from '../../schema/event.ts';
import { isOurs } from './inspect.ts';
import { withReader } from './reader.ts';
import { type EventRow, fromEventRow } from './rows.ts';
import { schemaDifferences } from './schema-differences.ts';

/** Oldest first; none of a file that is no database of ours. Throws as `withReader`. */
export function newestEvents(path: string, limit: number): Event[] {
  return withReader(path, (db) => {
    if (!isOurs(db) || schemaDifferences(db).length > 0) return [];
    const rows = db
      .prepare<[number], EventRow>(
        'SELECT id, type, timestamp, sandbox_id, owner_id, data FROM events ORDER BY id DESC LIMIT ?',
      )
      .all(limit);
    return rows.reverse().map(fromEventRow);
  });
}
