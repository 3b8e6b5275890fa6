// Claims of idempotency keys. A claim outlives its sandbox row once it holds a response; without one it dies with it.
import type { Database } from 'better-sqlite3';
import type { IdempotencyClaim, IdempotencyStore, Replay } from '../store.ts';
import type { Executor } from './executor.ts';
import { SWEEP_ROWS } from './methods.ts';
import { deleteOverShare, sharedRows } from './over-share.ts';

interface KnownClaim {
  sandbox_id: string;
  fingerprint: string;
  response: string | null;
}

/** The operations on claims inside the transactions of sandboxes. */
export interface ClaimTable {
  /** A claim without a response is dead once its row was removed or has ended: nothing will answer for it. */
  live(claim: IdempotencyClaim): Replay | undefined;
  /** Replaces a dead claim. */
  put(claim: IdempotencyClaim, sandbox_id: string, created_at: string): void;
  answer(sandbox_id: string, response: string): void;
  forget(sandbox_id: string): void;
}

export function claimTable(db: Database): ClaimTable {
  const live = db.prepare<IdempotencyClaim, KnownClaim>(
    `SELECT sandbox_id, fingerprint, response FROM idempotency AS claim WHERE scope = @scope AND key = @key
       AND (response IS NOT NULL OR EXISTS (
         SELECT 1 FROM sandboxes WHERE id = claim.sandbox_id AND state NOT IN ('destroyed', 'error')))`,
  );
  const put = db.prepare(
    `INSERT OR REPLACE INTO idempotency (scope, key, fingerprint, sandbox_id, created_at)
       VALUES (@scope, @key, @fingerprint, @sandbox_id, @created_at)`,
  );
  const answer = db.prepare('UPDATE idempotency SET response = ? WHERE sandbox_id = ?');
  const forget = db.prepare('DELETE FROM idempotency WHERE sandbox_id = ?');
  return {
    live: (claim) => live.all(claim).map(replay)[0],
    put: (claim, sandbox_id, created_at) => void put.run({ ...claim, sandbox_id, created_at }),
    answer: (sandbox_id, response) => void answer.run(response, sandbox_id),
    forget: (sandbox_id) => void forget.run(sandbox_id),
  };
}

function replay({ sandbox_id, fingerprint, response }: KnownClaim): Replay {
  return { kind: 'replay', sandbox_id, fingerprint, ...(response !== null && { response }) };
}

export function idempotencyStore(db: Database, work: Executor): IdempotencyStore {
  const claims = claimTable(db);
  const prune = db.prepare(
    `DELETE FROM idempotency WHERE (scope, key) IN (
       SELECT scope, key FROM idempotency WHERE created_at < ? LIMIT ?)`,
  );
  const shared = sharedClaims(db);
  return {
    find: (claim) => work.run(() => claims.live(claim)),
    prune: (before, most) =>
      work.settle(() => {
        const old = prune.run(before, SWEEP_ROWS).changes;
        return most === undefined ? old : old + deleteOverShare(shared, most, SWEEP_ROWS - old);
      }),
  };
}

const sharedClaims = (db: Database) =>
  sharedRows(
    db,
    'SELECT scope AS holder, count(*) AS count FROM idempotency GROUP BY scope',
    `DELETE FROM idempotency WHERE (scope, key) IN (
       SELECT scope, key FROM idempotency WHERE scope = ? ORDER BY created_at LIMIT ?)`,
  );
