// Workers in the database, and the choice among them inside the reservation of a sandbox (sandboxes.ts).
import type { Database } from 'better-sqlite3';
import {
  type Candidates,
  type Placement,
  type PlacementCandidate,
  type PlacementLimits,
  placeBeside,
  placeSandbox,
} from '../../domain/placement.ts';
import { SESSIONS } from '../../domain/worker-capabilities.ts';
import { type KnownWorker, meets, unmetDemand } from '../../domain/worker-demand.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import { workerIdTaken } from '../../domain/worker-secret.ts';
import type { HeartbeatBody } from '../../schema/worker.ts';
import { tooManyWorkers } from '../refusals.ts';
import { parse } from '../rows.ts';
import type { HeartbeatTerms, WorkerStore } from '../seam/workers.ts';
import { fromWorkerRow, heartbeatRow, labelsOf, type WorkerRow } from '../worker-rows.ts';
import type { Executor } from './executor.ts';

const ACTIVE = "state IN ('creating', 'running', 'unhealthy', 'destroying')";
const REMOTE = `FROM sandboxes INDEXED BY sandboxes_remote WHERE worker_id <> 'local' AND ${ACTIVE}`;
const BY_PROVIDER = `SELECT provider, count(*) AS active ${REMOTE}`;
/** Sandboxes of the server itself: all that are not on another worker. */
const COUNTS = `CASE id WHEN 'local'
  THEN (SELECT json_group_object(provider, here.active - coalesce(remote.active, 0))
    FROM active_counts AS here LEFT JOIN (${BY_PROVIDER} GROUP BY provider) AS remote USING (provider))
  ELSE (SELECT json_group_object(provider, active) FROM (${BY_PROVIDER} AND worker_id = workers.id GROUP BY provider)) END`;
const PREWARMED = '(SELECT count(*) FROM warm_sandboxes WHERE worker_id = workers.id) AS prewarmed';
const SELECT = `SELECT workers.*, ${COUNTS} AS active, ${PREWARMED} FROM workers`;

export function workerStore(db: Database, work: Executor): WorkerStore {
  const get = db.prepare<[string], WorkerRow>(`${SELECT} WHERE id = ?`);
  const list = db.prepare<[], WorkerRow>(`${SELECT} ORDER BY id`);
  const drain = db.prepare('UPDATE workers SET drain = @drain, updated_at = @at WHERE id = @id');
  const remove = db.prepare('DELETE FROM workers WHERE id = ?');
  const heard = hearing(db);
  const draining = db.transaction((id: string, wanted: boolean, at: string) => {
    drain.run({ id, drain: Number(wanted), at });
    return get.all(id).map(fromWorkerRow)[0];
  });
  const removing = db.transaction((id: string) => {
    const row = get.get(id);
    if (!row) return 'absent';
    const { active_sandboxes, prewarmed_sandboxes } = fromWorkerRow(row);
    if (active_sandboxes + prewarmed_sandboxes > 0) return 'busy';
    remove.run(id);
    return 'removed';
  });
  return {
    heard: (...heartbeat) => work.grow(() => heard.immediate(...heartbeat)),
    get: (id) => work.run(() => get.all(id).map(fromWorkerRow)[0]),
    list: () => work.run(() => list.all().map(fromWorkerRow)),
    drain: (id, wanted, at) => work.settle(() => draining.immediate(id, wanted, at)),
    remove: (id) => work.settle(() => removing.immediate(id)),
  };
}

/**
 * Omitted values stay: each value is the new one, otherwise the stored one, otherwise the default of a new worker. An
 * empty `rpc_url` clears the address.
 */
function hearing(db: Database) {
  const get = db.prepare<[string], WorkerRow>(`${SELECT} WHERE id = ?`);
  const count = db.prepare<[], number>('SELECT count(*) FROM workers').pluck();
  const reported = [
    'hostname',
    'status',
    'providers',
    'capabilities',
    'labels',
    'images',
    'max_sandboxes',
    'memory_mb',
    'vcpus',
  ];
  const update = db.prepare(
    `UPDATE workers SET ${[...reported, 'version'].map((name) => `${name} = coalesce(@${name}, ${name})`)},
       rpc_url = nullif(coalesce(@rpc_url, rpc_url), ''), last_heartbeat = @at, updated_at = @at WHERE id = @id`,
  );
  const insert = db.prepare(
    `INSERT INTO workers (id, hostname, status, providers, capabilities, labels, images, max_sandboxes, memory_mb, vcpus, rpc_url,
       version, last_heartbeat, drain, created_at, updated_at)
     VALUES (@id, coalesce(@hostname, ''), coalesce(@status, 'online'), coalesce(@providers, '[]'),
       coalesce(@capabilities, '[]'), coalesce(@labels, '{}'), coalesce(@images, '[]'), coalesce(@max_sandboxes, 0),
       coalesce(@memory_mb, 0), coalesce(@vcpus, 0), nullif(@rpc_url, ''), @version, @at, 0, @at, @at)`,
  );
  const taken = db.prepare<object>(
    `SELECT 1 FROM workers WHERE id = @id AND secret_print <> @secret_print AND last_heartbeat > @silent_since`,
  );
  const claiming = db.prepare('UPDATE workers SET secret_print = @secret_print WHERE id = @id');
  return db.transaction((id: string, body: HeartbeatBody, at: string, { most, claim }: HeartbeatTerms) => {
    const values = { id, at, ...heartbeatRow(body) };
    if (claim && taken.get({ id, ...claim })) throw workerIdTaken();
    if (update.run(values).changes === 0) {
      if ((count.get() ?? 0) >= most) throw tooManyWorkers(most);
      insert.run(values);
    }
    if (claim) claiming.run({ id, secret_print: claim.secret_print });
    return fromWorkerRow(get.get(id) as WorkerRow);
  });
}

/** Call it inside a transaction. */
export interface WorkerPlaces {
  /** Counts sandboxes of `provider` on other workers. */
  elsewhere(provider: string): number;
  find(provider: string, limits: PlacementLimits, isLocalFull: boolean): Placement;
  /** The same for one to prewarm. */
  findBeside(provider: string, limits: PlacementLimits, isLocalFull: boolean): Placement;
}

export function workerPlaces(db: Database): WorkerPlaces {
  const known = db.prepare<object, WorkerRow & { isReachable: number }>(
    `SELECT *, id = 'local' OR (status <> 'offline' AND rpc_url IS NOT NULL AND last_heartbeat > @heartbeat_after)
       AS isReachable FROM workers`,
  );
  const elsewhere = db.prepare<[string], number>(`SELECT count(*) ${REMOTE} AND provider = ?`).pluck();
  const able = ableWorkers(db);
  return {
    elsewhere: (provider) => elsewhere.get(provider) ?? 0,
    find(provider, limits, is_full) {
      const { on, demand, heartbeat_after } = limits;
      const placement = placeSandbox(able(provider, limits, is_full), on);
      if (!placement.is_lost || demand === undefined) return placement;
      const all = known.all({ heartbeat_after }).map(knownWorker);
      return { ...placement, unmet: unmetDemand(demand, provider, all) };
    },
    findBeside: (...asked) => placeBeside(able(...asked)),
  };
}

/** Those that meet the demand. */
function ableWorkers(db: Database) {
  const own = db.prepare<[], Pick<WorkerRow, 'drain' | 'labels'>>(
    "SELECT drain, labels FROM workers WHERE id = 'local'",
  );
  const candidates = db.prepare<
    object,
    Omit<PlacementCandidate, 'has_image'> & Pick<WorkerRow, 'labels'> & { has_image: number }
  >(
    `SELECT id, labels, max_sandboxes, (SELECT count(*) ${REMOTE} AND worker_id = workers.id) AS active,
       ${PREWARMED},
       EXISTS (SELECT 1 FROM json_each(images) WHERE value IN (SELECT value FROM json_each(@images))) AS has_image
       FROM workers
       WHERE id <> 'local' AND drain = 0 AND status = 'online' AND rpc_url IS NOT NULL AND last_heartbeat > @heartbeat_after
         AND (@sessions = 0 OR EXISTS (SELECT 1 FROM json_each(capabilities) WHERE value = '${SESSIONS}'))
         AND @provider IN (SELECT value FROM json_each(providers))`,
  );
  return (provider: string, limits: PlacementLimits, is_full: boolean): Candidates => {
    const { local: mayBeLocal, remote, sessions, heartbeat_after, demand, images = [] } = limits;
    const fits = (row: Pick<WorkerRow, 'id' | 'labels'>) =>
      demand === undefined || meets({ id: row.id, labels: labelsOf(row) }, demand);
    const { drain, labels } = own.get() ?? { drain: 0, labels: '{}' };
    const hasLocal = mayBeLocal && drain === 0 && fits({ id: LOCAL_WORKER, labels });
    const given = { provider, heartbeat_after, sessions: Number(sessions), images: JSON.stringify(images) };
    const rows = remote ? candidates.all(given).filter(fits) : [];
    const others = rows.map((row) => ({ ...row, has_image: row.has_image !== 0 }));
    return { local: hasLocal ? { is_full } : undefined, others };
  };
}

function knownWorker(row: WorkerRow & { isReachable: number }): KnownWorker {
  return {
    id: row.id,
    labels: labelsOf(row),
    providers: parse(row.providers) as string[],
    isDraining: row.drain !== 0 || row.status === 'draining',
    isReachable: row.isReachable !== 0,
  };
}
