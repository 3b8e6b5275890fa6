// Events: written with a state change on the durable connection, or in batches on the relaxed one; both take their ids
// from one place.
import type { Database } from 'better-sqlite3';
import type { Event, EventDraft } from '../../schema/event.ts';
import type { EventStore } from '../seam/events.ts';
import type { EventIds } from './event-ids.ts';
import { BITE_ROWS } from './methods.ts';
import { type EventRow, fromEventRow, toEventRow } from './rows.ts';
import type { Work } from './work.ts';

export interface EventTable {
  /** Inside a transaction on the same connection, after `ids.ensure(drafts.length)`. */
  insert(drafts: readonly EventDraft[]): Event[];
}

export function eventTable(db: Database, ids: EventIds): EventTable {
  const insert = db.prepare<EventRow>(
    'INSERT INTO events (id, type, timestamp, sandbox_id, owner_id, data) VALUES (@id, @type, @timestamp, @sandbox_id, @owner_id, @data)',
  );
  return {
    insert: (drafts) =>
      drafts.map((draft) => {
        const row = toEventRow(ids.take(), draft);
        insert.run(row);
        return fromEventRow(row);
      }),
  };
}

/** `relaxed` is the second connection, synchronous=NORMAL. */
export function eventStore(relaxed: Database, ids: EventIds, work: Work): EventStore {
  const table = eventTable(relaxed, ids);
  const append = relaxed.transaction((drafts: readonly EventDraft[]) => table.insert(drafts));
  const since = relaxed.prepare<[number, number], EventRow>(
    'SELECT id, type, timestamp, sandbox_id, owner_id, data FROM events WHERE id > ? ORDER BY id LIMIT ?',
  );
  const bounds = relaxed.prepare<[], { oldest: number; newest: number }>(
    'SELECT coalesce((SELECT min(id) FROM events), 0) AS oldest, coalesce((SELECT max(id) FROM events), 0) AS newest',
  );
  const firstUnwanted = relaxed
    .prepare<[number], number>('SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?')
    .pluck();
  const prune = relaxed.prepare(
    'DELETE FROM events WHERE id IN (SELECT id FROM events WHERE id <= ? ORDER BY id LIMIT ?)',
  );
  return {
    append: (drafts) =>
      work.grow(() => {
        ids.ensure(drafts.length);
        return append.immediate(drafts);
      }),
    since: (after, limit) => work.run(() => since.all(after, limit).map(fromEventRow)),
    bounds: () => work.run(() => bounds.get() as { oldest: number; newest: number }),
    prune: (keep) =>
      work.settle(() => {
        const unwanted = firstUnwanted.get(keep);
        return unwanted === undefined ? 0 : prune.run(unwanted, BITE_ROWS).changes;
      }),
  };
}
