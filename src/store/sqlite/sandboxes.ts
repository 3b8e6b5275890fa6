// Writes of sandbox rows. Every method is one IMMEDIATE transaction on the durable connection, so that what it read is
// still true when it commits.
import type { Database } from 'better-sqlite3';
import { decideAdmission, requestOfRow } from '../../domain/admission.ts';
import { placedEvents } from '../../domain/placement.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import {
  fromSandboxRow,
  PATCHED_COLUMNS,
  patchedRow,
  SANDBOX_COLUMNS,
  type SandboxRow,
  toSandboxRow,
} from '../rows.ts';
import type { Reservation, ReserveOrder, SandboxStore, Transition } from '../store.ts';
import { admissionFacts } from './admission-facts.ts';
import type { EventIds } from './event-ids.ts';
import { eventTable } from './events.ts';
import type { Executor } from './executor.ts';
import { claimTable } from './idempotency.ts';
import { leaseTaker } from './leases.ts';
import { SWEEP_ROWS } from './methods.ts';
import { deleteOverShare, sharedRows } from './over-share.ts';
import { poolPlaces } from './pool.ts';
import { warmTaker } from './prewarmed.ts';

/** States that lead to an end. */
const ENDS: ReadonlySet<string> = new Set(['destroying', 'destroyed', 'error']);

interface Connection {
  db: Database;
  work: Executor;
}

export type SandboxWrites = Pick<SandboxStore, 'reserve' | 'transition' | 'extend' | 'purgeEnded'>;

export function sandboxWrites({ db, work }: Connection, ids: EventIds): SandboxWrites {
  const reserve = reserving(db, ids);
  const transition = transitioning(db, ids);
  // Run with all(), not get(): only a statement run to its end reports a commit that failed.
  const extend = db.prepare<object, SandboxRow>(
    `UPDATE sandboxes SET expires_at = @expires_at
       WHERE id = @id AND expires_at IN (@was, @expires_at) AND state IN (SELECT value FROM json_each(@from))
       RETURNING ${SANDBOX_COLUMNS}`,
  );
  const purge = db.prepare(
    `DELETE FROM sandboxes WHERE id IN (
       SELECT id FROM sandboxes INDEXED BY sandboxes_by_end WHERE state IN ('destroyed', 'error') AND ended_at < ? LIMIT ?)`,
  );
  const shared = sharedEnds(db);
  return {
    reserve: (order) =>
      work.grow(() => {
        ids.ensure(order.events.length);
        return reserve.immediate(order);
      }),
    transition: (change) => {
      const isEnd = change.patch.state !== undefined && ENDS.has(change.patch.state);
      return work[isEnd ? 'end' : 'settle'](() => {
        ids.ensure(change.events.length);
        return transition.immediate(change);
      });
    },
    extend: (id, from, deadline) =>
      work.change(() => extend.all({ id, from: JSON.stringify(from), ...deadline }).map(fromSandboxRow)[0]),
    purgeEnded: (before, most) =>
      work.settle(() => {
        const old = purge.run(before, SWEEP_ROWS).changes;
        return most === undefined ? old : old + deleteOverShare(shared, most, SWEEP_ROWS - old);
      }),
  };
}

const ENDED = "state IN ('destroyed', 'error')";

const sharedEnds = (db: Database) =>
  sharedRows(
    db,
    `SELECT owner_id AS holder, count(*) AS count FROM sandboxes INDEXED BY sandboxes_ended_by_owner
       WHERE ${ENDED} GROUP BY owner_id`,
    `DELETE FROM sandboxes WHERE id IN (
       SELECT id FROM sandboxes INDEXED BY sandboxes_ended_by_owner
         WHERE ${ENDED} AND owner_id IS ? ORDER BY ended_at LIMIT ?)`,
  );

function reserving(db: Database, ids: EventIds) {
  const claims = claimTable(db);
  const events = eventTable(db, ids);
  const facts = admissionFacts(db);
  const takeWarm = warmTaker(db);
  const places = poolPlaces(db);
  const acquire = leaseTaker(db);
  const insert = db.prepare(
    `INSERT INTO sandboxes (${SANDBOX_COLUMNS}) VALUES (${SANDBOX_COLUMNS.map((column) => `@${column}`)})`,
  );
  return db.transaction(({ sandbox, limits, events: drafts, claim, warm }: ReserveOrder): Reservation => {
    const known = claim && claims.live(claim);
    if (known) return known;
    const request = requestOfRow(sandbox);
    const place = limits.pool && places.find(sandbox, limits.pool);
    const decision = decideAdmission(request, limits, facts(request, limits));
    if (!decision.allowed) return { kind: 'denied', decision };
    if (warm && !takeWarm(sandbox, warm.replica_id)) return { kind: 'gone' };
    const { worker_id = sandbox.worker_id } = decision.placement ?? {};
    const row = toSandboxRow({ ...(place ? places.take(sandbox, place) : sandbox), worker_id });
    insert.run(row);
    if (limits.placement && !warm && worker_id !== LOCAL_WORKER) {
      const { id, created_at } = sandbox;
      const { lease_until: expires_at } = limits.placement;
      acquire({ resource_id: id, holder_id: worker_id, expires_at, created_at });
    }
    if (claim) claims.put(claim, sandbox.id, sandbox.created_at);
    if (claim && warm) claims.answer(sandbox.id, warm.response);
    return {
      kind: 'reserved',
      sandbox: fromSandboxRow(row),
      events: events.insert(placedEvents(drafts, worker_id)),
    };
  });
}

const UNCHANGED = Object.fromEntries([...PATCHED_COLUMNS, 'replica_id'].map((column) => [column, null]));

function transitioning(db: Database, ids: EventIds) {
  const claims = claimTable(db);
  const events = eventTable(db, ids);
  const update = db.prepare<object, SandboxRow>(
    `UPDATE sandboxes SET ${PATCHED_COLUMNS.map((column) => `${column} = coalesce(@${column}, ${column})`)},
         replica_id = nullif(coalesce(@replica_id, replica_id), '')
       WHERE id = @row_id AND epoch = @row_epoch AND state IN (SELECT value FROM json_each(@row_from))
         AND expires_at = coalesce(@row_expires_at, expires_at)
         AND (@row_generation IS NULL OR EXISTS (
           SELECT 1 FROM leases WHERE resource_id = @row_id AND generation = @row_generation))
       RETURNING ${SANDBOX_COLUMNS}`,
  );
  return db.transaction((change: Transition) => {
    const { id, events: drafts, response } = change;
    const row = update.get({ ...UNCHANGED, ...patchedRow(change), ...conditions(change) });
    if (!row) return undefined;
    if (row.state === 'error') claims.forget(id);
    else if (response !== undefined) claims.answer(id, response);
    return { sandbox: fromSandboxRow(row), events: events.insert(drafts) };
  });
}

const conditions = ({ id, from, epoch, expires_at, lease_generation }: Transition) => ({
  row_id: id,
  row_epoch: epoch,
  row_from: JSON.stringify(from),
  row_expires_at: expires_at ?? null,
  row_generation: lease_generation ?? null,
});
