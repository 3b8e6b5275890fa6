// Workers and their leases in PostgreSQL.
import { workerIdTaken } from '../../domain/worker-secret.ts';
import { tooManyWorkers } from '../refusals.ts';
import type { LeaseRecord, LeaseStore, WorkerStore } from '../seam/workers.ts';
import { fromWorkerRow, heartbeatRow, type WorkerRow } from '../worker-rows.ts';
import type { Statement } from './connection.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

const SELECT = `SELECT id, hostname, status, providers, capabilities, labels, max_sandboxes, memory_mb, vcpus, rpc_url, version,
  last_heartbeat, drain, created_at, updated_at, (SELECT coalesce(json_object_agg(provider, count), '{}')::text FROM
    (SELECT provider, sum(active)::bigint AS count FROM active_counts WHERE worker_id = workers.id GROUP BY provider) AS each)
    AS active, (SELECT count(*) FROM warm_sandboxes WHERE worker_id = workers.id) AS prewarmed FROM workers`;
const GET: Statement = { name: 'worker', text: `${SELECT} WHERE id = $1` };
const LIST: Statement = { name: 'workers', text: `${SELECT} ORDER BY id` };
const HEARTBEAT: Statement = {
  name: 'worker-heartbeat',
  text: 'SELECT svc_claimed_heartbeat_20($1, $2::jsonb, $3, $4, $5, $6) AS kind',
};
const DRAIN: Statement = {
  name: 'worker-drain',
  text: 'UPDATE workers SET drain = $2, updated_at = $3 WHERE id = $1',
};
const REMOVE: Statement = { name: 'worker-remove', text: 'SELECT svc_remove_worker_19($1, $2, $3) AS kind' };

export function workerStore(work: Work): WorkerStore {
  const get = async (id: string) => {
    const [row] = await work.read<WorkerRow>({ ...GET, values: [id] });
    return row && fromWorkerRow(row);
  };
  return {
    heard: async (id, body, at, { most, claim }) => {
      const claimed = [claim?.secret_print ?? null, claim?.silent_since ?? null];
      const values = [id, encodeJson(heartbeatRow(body)), at, most, ...claimed];
      const [row] = await work.write<{ kind: 'heard' | 'full' | 'taken' }>({ ...HEARTBEAT, values });
      if (row?.kind === 'taken') throw workerIdTaken();
      const worker = row?.kind === 'heard' ? await get(id) : undefined;
      if (!worker) throw tooManyWorkers(most);
      return worker;
    },
    get,
    list: async () => (await work.read<WorkerRow>(LIST)).map(fromWorkerRow),
    drain: async (id, drain, at) => {
      await work.write({ ...DRAIN, values: [id, drain ? 1 : 0, at] });
      return get(id);
    },
    remove: async (id) => {
      const [row] = await work.once<{ kind: 'removed' | 'absent' | 'busy' }>({ ...REMOVE, values: [id] });
      return row!.kind;
    },
  };
}

const LEASE = 'resource_id, holder_id, generation, expires_at, created_at';
const GET_LEASE: Statement = { name: 'lease', text: `SELECT ${LEASE} FROM leases WHERE resource_id = $1` };
const LIST_LEASES: Statement = {
  name: 'leases',
  text: `SELECT ${LEASE} FROM leases ORDER BY expires_at, resource_id`,
};
const RENEW: Statement = {
  name: 'lease-renew',
  text: `SELECT ${LEASE} FROM svc_renew_lease_19($1, $2, $3, $4, $5)`,
};

export function leaseStore(work: Work): LeaseStore {
  return {
    get: async (id) => (await work.read<LeaseRecord>({ ...GET_LEASE, values: [id] }))[0],
    list: () => work.read<LeaseRecord>(LIST_LEASES),
    renew: async (...request) => (await work.once<LeaseRecord>({ ...RENEW, values: request }))[0],
  };
}
