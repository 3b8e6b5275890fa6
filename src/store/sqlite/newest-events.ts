// Reads the newest events of a database file, also when no server runs.
import type { Event } from '../../schema/event.ts';
import { isOurs } from './inspect.ts';
import { withReader } from './reader.ts';
import { type EventRow, fromEventRow } from './rows.ts';
import { schemaDifferences } from './schema-differences.ts';

/** Oldest first; empty if the file is not a database of this service. Throws like `withReader`. */
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
