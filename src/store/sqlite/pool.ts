// VMs of the pool. The reservation of a sandbox (sandboxes.ts) finds and takes capacity in one.
import type { Database } from 'better-sqlite3';
import {
  choosePlace,
  POOL_UIDS,
  type PoolCandidate,
  type PoolLimits,
  type PoolVm,
  poolUid,
} from '../../domain/pool.ts';
import type { PoolStore } from '../seam/pool.ts';
import type { SandboxRecord } from '../store.ts';
import type { Executor } from './executor.ts';

type VmRow = Omit<PoolVm, 'warnings' | 'runtime_id'> & { warnings: string; runtime_id: string | null };
type PoolChoice = ReturnType<typeof choosePlace>;

const COLUMNS = 'id, provider, state, image, memory_mb, vcpus, created_at, warnings, runtime_id';
const ON_IT = `FROM sandboxes INDEXED BY sandboxes_by_vm WHERE vm_id = pool_vms.id
  AND vm_id IS NOT NULL AND state IN ('creating', 'running', 'unhealthy', 'destroying')`;

export function poolStore(db: Database, work: Executor): PoolStore {
  const get = db.prepare<[string], VmRow>(`SELECT ${COLUMNS} FROM pool_vms WHERE id = ?`);
  const all = db.prepare<[], VmRow>(`SELECT ${COLUMNS} FROM pool_vms ORDER BY created_at, id`);
  const running = db.prepare<object, VmRow>(
    `UPDATE pool_vms SET state = 'running', runtime_id = @runtime_id, image = @image, memory_mb = @memory_mb,
       vcpus = @vcpus, warnings = @warnings WHERE id = @id AND state = 'creating' RETURNING ${COLUMNS}`,
  );
  const retire = db.prepare<object, VmRow>(
    `UPDATE pool_vms SET state = 'destroying' WHERE id = @id AND (state = 'destroying' OR @lost OR NOT EXISTS (
       SELECT 1 ${ON_IT} AND state <> 'destroying' AND id <> @but)) RETURNING ${COLUMNS}`,
  );
  const remove = db.prepare(`DELETE FROM pool_vms WHERE id = ? AND state = 'destroying'`);
  const usage = db.prepare<[], { vms: number; users: number }>(
    `SELECT (SELECT count(*) FROM pool_vms) AS vms,
       (SELECT count(DISTINCT owner_id) FROM sandboxes INDEXED BY sandboxes_by_vm WHERE vm_id IS NOT NULL
          AND state IN ('creating', 'running', 'unhealthy', 'destroying')) AS users`,
  );
  return {
    get: (id) => work.run(() => get.all(id).map(fromRow)[0]),
    all: () => work.run(() => all.all().map(fromRow)),
    running: (id, { warnings, ...made }) =>
      work.change(() => running.all({ id, ...made, warnings: JSON.stringify(warnings) }).map(fromRow)[0]),
    retire: (id, { but = '', lost = false } = {}) =>
      work.settle(() => retire.all({ id, but, lost: Number(lost) }).map(fromRow)[0]),
    remove: (id) => work.settle(() => void remove.run(id)),
    usage: () => work.run(() => usage.all()[0] ?? { vms: 0, users: 0 }),
  };
}

function fromRow({ warnings, runtime_id, ...row }: VmRow): PoolVm {
  return { ...row, warnings: JSON.parse(warnings) as string[], ...(runtime_id !== null && { runtime_id }) };
}

/** Call it inside a transaction. */
export interface PoolPlaces {
  /** Undefined if the pool is full. */
  find(sandbox: Pick<SandboxRecord, 'provider' | 'owner_id'>, limits: PoolLimits): PoolChoice;
  /** Assigns the sandbox to its VM; a new VM has the id that the sandbox proposes. */
  take(sandbox: SandboxRecord, place: NonNullable<PoolChoice>): SandboxRecord;
}

export function poolPlaces(db: Database): PoolPlaces {
  const candidates = db.prepare<object, PoolCandidate>(
    `SELECT id, (SELECT count(DISTINCT owner_id) ${ON_IT}) AS users,
       EXISTS (SELECT 1 ${ON_IT} AND owner_id = @owner_id) AS is_users
     FROM pool_vms WHERE state <> 'destroying' AND provider = @provider
       AND (SELECT given FROM pool_uids) - uids_before < ${POOL_UIDS} ORDER BY created_at, id`,
  );
  const count = db.prepare<[], number>('SELECT count(*) FROM pool_vms').pluck();
  const insert = db.prepare(
    `INSERT INTO pool_vms (id, provider, state, image, memory_mb, vcpus, created_at, uids_before, warnings)
       SELECT @vm_id, @provider, 'creating', @image, @memory_mb, @vcpus, @created_at, given, '[]' FROM pool_uids`,
  );
  const next = db.prepare<[], number>('UPDATE pool_uids SET given = given + 1 RETURNING given - 1').pluck();
  return {
    find: ({ provider, owner_id }, limits) =>
      choosePlace(candidates.all({ provider, owner_id: owner_id ?? null }), count.get() ?? 0, limits),
    take(sandbox, place) {
      const { vm_id, provider, image, memory_mb, vcpus, created_at } = sandbox;
      if (place === 'new') insert.run({ vm_id, provider, image, memory_mb, vcpus, created_at });
      const uid = poolUid(next.get() ?? 0);
      return { ...sandbox, uid, ...(place !== 'new' && { vm_id: place.vm_id }) };
    },
  };
}
