// Events in PostgreSQL: appended to the outbox with relaxed durability, read by the ids that numbering gives them.
import type { Ids } from '../../domain/ports.ts';
import { type EventRow, fromEventRow } from '../rows.ts';
import type { EventBounds, EventStore } from '../seam/events.ts';
import type { Statement } from './connection.ts';
import { type Numbering, outboxJson } from './outbox.ts';
import { sweepOverShare } from './sweeps.ts';
import type { Work } from './work.ts';

const APPEND: Statement = { name: 'events-append', text: 'SELECT svc_append_17($1::jsonb)::text' };
const SINCE: Statement = {
  name: 'events-since',
  text: `SELECT id, type, timestamp, sandbox_id, owner_id, actor, data FROM events WHERE id > $1 ORDER BY id LIMIT $2`,
};
const BOUNDS: Statement = {
  name: 'events-bounds',
  text: `SELECT coalesce((SELECT min(id) FROM events), 0) AS oldest, coalesce((SELECT max(id) FROM events), 0) AS newest,
    coalesce((SELECT max(through) FROM event_gaps WHERE $1::text IS NULL OR owner_id = $1), 0) AS lost_through`,
};
const SHARES = {
  counts: {
    name: 'event-counts',
    text: 'SELECT owner_id AS holder, count(*) AS count FROM events GROUP BY owner_id',
  },
  remove: { name: 'events-prune', text: 'SELECT svc_prune_events_17($1, $2) AS deleted' },
};

export interface EventsDeps {
  work: Work;
  ids: Ids;
  numbering: Numbering;
}

/** Reads wait for the numbering of what this process committed before, `bounds` also for that of all others. */
export function eventStore({ work, ids, numbering }: EventsDeps): EventStore {
  return {
    append: async (drafts) => {
      if (drafts.length === 0) return;
      await work.write({ ...APPEND, values: [outboxJson(drafts, ids)] });
      numbering.request();
    },
    since: async (after, limit) => {
      await numbering.settled();
      return (await work.read<EventRow>({ ...SINCE, values: [after, limit] })).map(fromEventRow);
    },
    bounds: async (owner) => {
      await numbering.complete();
      return (
        await work.read<EventBounds & Record<string, unknown>>({ ...BOUNDS, values: [owner ?? null] })
      )[0]!;
    },
    prune: async (keep) => {
      await numbering.settled();
      return sweepOverShare(work, SHARES, keep);
    },
  };
}
