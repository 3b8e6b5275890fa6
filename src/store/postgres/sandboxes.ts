// Writes of sandbox rows in PostgreSQL.
import { fromSandboxRow, PATCHED_COLUMNS, patchedRow, type SandboxRow } from '../rows.ts';
import type { SandboxStore, Transition } from '../store.ts';
import { judge } from './admission.ts';
import type { Statement } from './connection.ts';
import { outboxJson } from './outbox.ts';
import type { EventfulTable } from './quotas.ts';
import { reserving } from './reserving.ts';
import { COLUMNS, sandboxQueries } from './sandbox-queries.ts';
import { deleting, sweep, sweepOverShare } from './sweeps.ts';
import { encodeJson } from './text.ts';

/** The row is as the change says, or this very change made it: then it is written again with the same values. */
const TRANSITION: Statement = {
  name: 'sandbox-transition',
  text: `WITH patch AS (SELECT * FROM jsonb_populate_record(NULL::sandboxes, $2::jsonb)), moved AS (
      UPDATE sandboxes SET ${PATCHED_COLUMNS.map((column) => `${column} = coalesce(patch.${column}, sandboxes.${column})`)},
          replica_id = nullif(coalesce(patch.replica_id, sandboxes.replica_id), ''), change = $9
        FROM patch
        WHERE sandboxes.id = $1 AND (($10::boolean AND sandboxes.change = $9)
          OR (sandboxes.state = ANY($3::text[]) AND sandboxes.epoch = $4
            AND sandboxes.expires_at = coalesce($5, sandboxes.expires_at)
            AND ($6::bigint IS NULL OR EXISTS (SELECT 1 FROM leases WHERE resource_id = $1 AND generation = $6))))
        RETURNING ${COLUMNS.split(', ').map((column) => `sandboxes.${column}`)}
    ), forgotten AS (
      DELETE FROM idempotency USING moved WHERE sandbox_id = moved.id AND moved.state = 'error'
    ), answered AS (
      UPDATE idempotency SET response = $7 FROM moved
        WHERE sandbox_id = moved.id AND moved.state <> 'error' AND $7::text IS NOT NULL
    ), told AS (SELECT svc_tell_17($8::jsonb) FROM moved)
    SELECT moved.* FROM moved, told`,
};
const EXTEND: Statement = {
  name: 'sandbox-extend',
  text: `UPDATE sandboxes SET expires_at = $3 WHERE id = $1 AND expires_at IN ($2, $3) AND state = ANY($4::text[])
    RETURNING ${COLUMNS}`,
};
const ENDED = "state IN ('destroyed', 'error')";
const OLD = deleting('sandboxes-old', 'sandboxes', 'id', `WHERE ${ENDED} AND ended_at < $1 LIMIT $2`);
const SHARES = {
  counts: {
    name: 'sandboxes-ended',
    text: `SELECT owner_id AS holder, count(*) AS count FROM sandboxes WHERE ${ENDED} GROUP BY owner_id`,
  },
  remove: deleting(
    'sandboxes-over',
    'sandboxes',
    'id',
    `WHERE ${ENDED} AND owner_id IS NOT DISTINCT FROM $1::text ORDER BY ended_at LIMIT $2`,
  ),
};

export function sandboxStore(table: EventfulTable): SandboxStore {
  const { work, ids, numbering } = table;
  const reserve = reserving(table);
  return {
    ...sandboxQueries(work),
    reserve,
    admission: (request, limits) => judge(work, { request, limits }),
    transition: async (change) => {
      const values = [...conditionsOf(change), change.response ?? null, outboxJson(change.events, ids)];
      const [row] = await work.once<SandboxRow & Record<string, unknown>>({ ...TRANSITION, values });
      if (!row) return undefined;
      if (change.events.length > 0) numbering.request();
      return { sandbox: fromSandboxRow(row), events: [...change.events] };
    },
    extend: async (id, from, { was, expires_at }) => {
      const values = [id, was, expires_at, from];
      return (await work.write<SandboxRow & Record<string, unknown>>({ ...EXTEND, values })).map(
        fromSandboxRow,
      )[0];
    },
    purgeEnded: async (before, most) => {
      const old = await sweep(work, OLD, [before]);
      return most === undefined ? old : old + (await sweepOverShare(work, SHARES, most));
    },
  };
}

/** The first six parameters of TRANSITION. */
function conditionsOf({ id, from, epoch, expires_at, lease_generation, ...change }: Transition) {
  const values = encodeJson(patchedRow(change));
  return [id, values, from, epoch, expires_at ?? null, lease_generation ?? null] as const;
}
