// Leases in the database. Reservations create them (sandboxes.ts, prewarmed.ts), and a trigger deletes them with the end
// of their sandboxes.
import type { Database } from 'better-sqlite3';
import type { LeaseRecord, LeaseStore } from '../seam/workers.ts';
import type { Executor } from './executor.ts';

const COLUMNS = 'resource_id, holder_id, generation, expires_at, created_at';

export function leaseStore(db: Database, work: Executor): LeaseStore {
  const get = db.prepare<[string], LeaseRecord>(`SELECT ${COLUMNS} FROM leases WHERE resource_id = ?`);
  const list = db.prepare<[], LeaseRecord>(`SELECT ${COLUMNS} FROM leases ORDER BY expires_at, resource_id`);
  // Run with all(), not get(): only a statement run to its end reports a commit that failed.
  const renew = db.prepare<[string, string, string], LeaseRecord>(
    `UPDATE leases SET generation = generation + 1, expires_at = max(expires_at, ?)
       WHERE resource_id = ? AND holder_id = ? AND (EXISTS (
         SELECT 1 FROM sandboxes WHERE id = resource_id AND state IN ('creating', 'running', 'unhealthy'))
         OR EXISTS (SELECT 1 FROM warm_sandboxes WHERE id = resource_id))
       RETURNING ${COLUMNS}`,
  );
  return {
    get: (resource_id) => work.run(() => get.get(resource_id)),
    list: () => work.run(() => list.all()),
    renew: (resource_id, holder_id, expires_at) =>
      work.change(() => renew.all(expires_at, resource_id, holder_id)[0]),
  };
}

/** Call it inside the transaction that writes the row. */
export function leaseTaker(db: Database): (lease: Omit<LeaseRecord, 'generation'>) => void {
  const insert = db.prepare(
    `INSERT INTO leases (${COLUMNS}) VALUES (@resource_id, @holder_id, 1, @expires_at, @created_at)`,
  );
  return (lease) => void insert.run(lease);
}
