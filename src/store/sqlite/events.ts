// Events: written with a state change on the durable connection, or in batches on the relaxed one. Both take their ids
// from the same counter.
import type { Database } from 'better-sqlite3';
import type { EventDraft } from '../../schema/event.ts';
import { type EventRow, fromEventRow, toEventRow } from '../rows.ts';
import type { EventBounds, EventStore } from '../seam/events.ts';
import type { EventIds } from './event-ids.ts';
import type { Executor } from './executor.ts';
import { deleteOverShare, type Shared } from './over-share.ts';

export interface EventTable {
  /** Call it inside a transaction on the same connection, after `ids.ensure(drafts.length)`. Returns the drafts. */
  insert(drafts: readonly EventDraft[]): EventDraft[];
}

export function eventTable(db: Database, ids: EventIds): EventTable {
  const insert = db.prepare<EventRow>(
    'INSERT INTO events (id, type, timestamp, sandbox_id, owner_id, actor, data) VALUES (@id, @type, @timestamp, @sandbox_id, @owner_id, @actor, @data)',
  );
  return {
    insert: (drafts) => {
      for (const draft of drafts) insert.run(toEventRow(ids.take(), draft));
      return [...drafts];
    },
  };
}

/** `relaxed` is the second connection, synchronous=NORMAL. */
export function eventStore(relaxed: Database, ids: EventIds, work: Executor): EventStore {
  const table = eventTable(relaxed, ids);
  const append = relaxed.transaction((drafts: readonly EventDraft[]) => table.insert(drafts));
  const since = relaxed.prepare<[number, number], EventRow>(
    'SELECT id, type, timestamp, sandbox_id, owner_id, actor, data FROM events WHERE id > ? ORDER BY id LIMIT ?',
  );
  const bounds = relaxed.prepare<{ owner: string | null }, EventBounds>(
    `SELECT coalesce((SELECT min(id) FROM events), 0) AS oldest, coalesce((SELECT max(id) FROM events), 0) AS newest,
       coalesce((SELECT max(through) FROM event_gaps WHERE @owner IS NULL OR owner_id = @owner), 0) AS lost_through`,
  );
  const shared = sharedEvents(relaxed);
  return {
    append: (drafts) =>
      work.grow(() => {
        ids.ensure(drafts.length);
        append.immediate(drafts);
      }),
    since: (after, limit) => work.run(() => since.all(after, limit).map(fromEventRow)),
    bounds: (owner) => work.run(() => bounds.get({ owner: owner ?? null }) as EventBounds),
    prune: (keep) => work.settle(() => deleteOverShare(shared, keep)),
  };
}

/** A deleted event leaves a gap while older events of other owners are kept. */
function sharedEvents(db: Database): Shared {
  const counts = db.prepare<[], { holder: string | null; count: number }>(
    'SELECT owner_id AS holder, count(*) AS count FROM events INDEXED BY events_by_owner GROUP BY owner_id',
  );
  const last = db
    .prepare<[string | null, number], number | null>(
      'SELECT max(id) FROM (SELECT id FROM events INDEXED BY events_by_owner WHERE owner_id IS ? ORDER BY id LIMIT ?)',
    )
    .pluck();
  const remove = db.prepare<[string | null, number]>(
    'DELETE FROM events INDEXED BY events_by_owner WHERE owner_id IS ? AND id <= ?',
  );
  const note = db.prepare(
    `INSERT INTO event_gaps (owner_id, through) VALUES (?, ?)
       ON CONFLICT (owner_id) DO UPDATE SET through = max(through, excluded.through)`,
  );
  const forget = db.prepare(
    'DELETE FROM event_gaps WHERE through < coalesce((SELECT min(id) FROM events), through + 1)',
  );
  const deleteOldest = db.transaction((holder: string | null, limit: number) => {
    const through = last.get(holder, limit);
    if (typeof through !== 'number') return 0;
    const { changes } = remove.run(holder, through);
    note.run(holder ?? '', through);
    forget.run();
    return changes;
  });
  return {
    counts: () => counts.all(),
    deleteOldest: (holder, limit) => deleteOldest.immediate(holder, limit),
  };
}
