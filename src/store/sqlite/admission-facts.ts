// Reads the facts for an admission decision inside the deciding transaction: counts of active sandboxes and the owner's
// quota.
import type { Database } from 'better-sqlite3';
import {
  type AdmissionFacts,
  type AdmissionLimits,
  type AdmissionRequest,
  reached,
} from '../../domain/admission.ts';
import type { Quota } from '../../schema/quota.ts';
import { poolPlaces } from './pool.ts';
import { workerPlaces } from './workers.ts';

export const QUOTA_COLUMNS = 'owner_id, max_sandboxes, max_ttl, max_exec_timeout, created_at, updated_at';

const ACTIVE = "state IN ('creating', 'running', 'unhealthy', 'destroying')";
/** The index contains only the owner, so the count reads no rows. */
const COUNT_OF_OWNER = `SELECT count(*) FROM sandboxes INDEXED BY sandboxes_active_by_owner WHERE ${ACTIVE} AND owner_id = ?`;

/** Sandboxes of an owner that have not ended. */
export function ownerCount(db: Database): (owner_id: string) => number {
  const count = db.prepare<[string], number>(COUNT_OF_OWNER).pluck();
  return (owner_id) => count.get(owner_id) ?? 0;
}

export function admissionFacts(
  db: Database,
): (request: Pick<AdmissionRequest, 'provider' | 'owner_id'>, limits: AdmissionLimits) => AdmissionFacts {
  const usage = db.prepare<[string], { active_sandboxes: number; active_provider_sandboxes: number }>(
    `SELECT coalesce(sum(active), 0) AS active_sandboxes,
            coalesce(sum(active) FILTER (WHERE provider = ?), 0) AS active_provider_sandboxes FROM active_counts`,
  );
  const ofOwner = ownerCount(db);
  const quota = db.prepare<[string], Quota>(`SELECT ${QUOTA_COLUMNS} FROM owner_quotas WHERE owner_id = ?`);
  const places = poolPlaces(db);
  const workers = workerPlaces(db);
  return (request, { pool, placement, max_provider_sandboxes }) => {
    const { provider, owner_id } = request;
    const counts = { ...NOTHING, ...usage.get(provider) };
    counts.active_provider_sandboxes -= workers.elsewhere(provider);
    const isLocalFull = reached(counts.active_provider_sandboxes, max_provider_sandboxes);
    const where = {
      ...(pool && { pool_is_full: places.find(request, pool) === undefined }),
      ...(placement && { placement: workers.find(provider, placement, isLocalFull) }),
    };
    if (owner_id === undefined) return { usage: counts, quota: undefined, ...where };
    const active_owner_sandboxes = ofOwner(owner_id);
    return { usage: { ...counts, active_owner_sandboxes }, quota: quota.get(owner_id), ...where };
  };
}

const NOTHING = { active_sandboxes: 0, active_provider_sandboxes: 0 };
