// Writes of sandbox rows in PostgreSQL.
import { requestOfRow } from '../../domain/admission.ts';
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { ServiceError } from '../../domain/errors.ts';
import { placedEvents } from '../../domain/placement.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import { fromSandboxRow, PATCHED_COLUMNS, patchedRow, type SandboxRow, toSandboxRow } from '../rows.ts';
import type { Replay, Reservation, ReserveOrder, SandboxRecord, SandboxStore, Transition } from '../store.ts';
import { type Judged, judge } from './admission.ts';
import type { Statement } from './connection.ts';
import { contended, crowded } from './failures.ts';
import { replayOf } from './idempotency.ts';
import { outboxJson, outboxRows } from './outbox.ts';
import type { EventfulTable } from './quotas.ts';
import { COLUMNS, sandboxQueries } from './sandbox-queries.ts';
import { deleting, sweep, sweepOverShare } from './sweeps.ts';
import { encodeJson } from './text.ts';

/** Guards that run at once: more would only queue at the rows that all of them change. */
const MOST_GUARDS = 4;
const MOST_WAITING = 1000;
const WAIT_MS = 5000;
/** Attempts against others that take the last capacity in between. */
const MOST_RACES = 8;

const RESERVE: Statement = {
  name: 'sandbox-reserve',
  text: 'SELECT kind, worker_id, sandbox_id, fingerprint, response, turn FROM svc_reserve_22($1::jsonb, $2, $3)',
};
/** The same for a prewarmed sandbox, which must be as its taker claimed it. */
const RESERVE_WARM: Statement = {
  name: 'sandbox-reserve-warm',
  text: RESERVE.text.replace('svc_reserve_22', 'svc_reserve_claimed_25'),
};
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
    admission: async (request, limits) => (await judge(work, request, limits)).decision,
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

interface Guarded {
  kind: 'reserved' | 'raced' | 'gone' | 'no_ticket' | 'replay';
  worker_id: string;
  sandbox_id: string;
  fingerprint: string;
  response: string | null;
  turn: number | null;
}

function reserving({ work, ids, numbering, clock }: EventfulTable): SandboxStore['reserve'] {
  const guards = new ConcurrencyLimit(MOST_GUARDS, {
    clock,
    waiting: MOST_WAITING,
    waitMs: WAIT_MS,
    busy: () => crowded().error,
  });
  const attempt = async (order: ReserveOrder): Promise<Reservation | 'raced'> => {
    const { sandbox, limits, claim, events: drafts } = order;
    const judged = await judge(work, requestOfRow(sandbox), limits, claim);
    if (judged.replay) return judged.replay;
    if (!judged.decision.allowed) return { kind: 'denied', decision: judged.decision };
    const worker_id = judged.decision.placement?.worker_id ?? sandbox.worker_id;
    const made = { ...sandbox, worker_id };
    const events = placedEvents(drafts, worker_id);
    const wish = { ...wishOf(order, made, judged), events: outboxRows(events, ids) };
    const [guarded] = await guards.run(() =>
      work.once<Guarded & Record<string, unknown>>({
        ...(order.warm ? RESERVE_WARM : RESERVE),
        values: [encodeJson(wish)],
      }),
    );
    return reservationOf(guarded!, made, events);
  };
  return async (order) => {
    if (order.limits.pool) throw poolRefused();
    for (let races = 0; races < MOST_RACES; races++) {
      const reservation = await attempt(order);
      if (reservation === 'raced') continue;
      if (reservation.kind === 'reserved') numbering.request();
      return reservation;
    }
    throw contended();
  };
}

function reservationOf(
  guarded: Guarded,
  made: SandboxRecord,
  events: Extract<Reservation, { kind: 'reserved' }>['events'],
): Reservation | 'raced' {
  const { kind, turn } = guarded;
  if (kind === 'raced') return 'raced';
  if (kind === 'gone' || kind === 'no_ticket') return { kind };
  if (kind === 'replay') return replayOf(guarded) satisfies Replay;
  return { kind, sandbox: fromSandboxRow(toSandboxRow(made)), events, ...(turn !== null && { turn }) };
}

/** What the guard writes, and the numbers that were decided on: it knows no reasons. */
function wishOf(
  { limits, claim, warm, ticket }: ReserveOrder,
  made: SandboxRecord,
  { decision, quota }: Judged,
) {
  const isLocal = limits.placement === undefined || made.worker_id === LOCAL_WORKER;
  return {
    row: toSandboxRow(made),
    total_cap: limits.max_sandboxes,
    provider_cap: isLocal ? decision.max_provider_sandboxes : 0,
    owner_cap: decision.max_owner_sandboxes ?? 0,
    quota_at: quota?.updated_at,
    claim,
    ticket,
    warm: warm && { response: claim ? warm.response : null, replica_id: warm.replica_id },
    ...(!isLocal && { lease: { expires_at: limits.placement?.lease_until } }),
  };
}

const poolRefused = () =>
  new ServiceError('not_implemented', 'Sandboxes that share VMs need a database file.', {
    remedy: 'Turn pool mode off, or set database.path in place of database.url.',
  });
