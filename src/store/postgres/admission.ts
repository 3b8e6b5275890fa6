// Admission in PostgreSQL (docs/design/postgres.md#admission): facts are read in one query without locks, TypeScript decides,
// and one statement enforces the numbers that were decided on.
import {
  type AdmissionDecision,
  type AdmissionFacts,
  type AdmissionLimits,
  type AdmissionRequest,
  decideAdmission,
  reached,
} from '../../domain/admission.ts';
import {
  type Placement,
  type PlacementCandidate,
  type PlacementLimits,
  placeSandbox,
} from '../../domain/placement.ts';
import { SESSIONS } from '../../domain/worker-capabilities.ts';
import { type KnownWorker, meets, type Unmet, unmetDemand } from '../../domain/worker-demand.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Quota } from '../../schema/quota.ts';
import { parse } from '../sqlite/rows.ts';
import type { IdempotencyClaim, Replay } from '../store.ts';
import type { Statement } from './connection.ts';
import { replayOf } from './idempotency.ts';
import { LIVE, QUOTA_COLUMNS } from './quotas.ts';
import type { Work } from './work.ts';

const FACTS: Statement = {
  name: 'admission-facts',
  text: `SELECT
    (SELECT coalesce(sum(active), 0) FROM active_counts) AS active_sandboxes,
    svc_active_17($1) AS active_provider_sandboxes,
    (SELECT count(*) FROM sandboxes WHERE owner_id = $2 AND ${LIVE}) AS active_owner_sandboxes,
    (SELECT to_json(q)::text FROM (SELECT ${QUOTA_COLUMNS} FROM owner_quotas WHERE owner_id = $2) AS q) AS quota,
    (SELECT to_json(l)::text FROM (SELECT drain, labels FROM workers WHERE id = 'local') AS l) AS local,
    (SELECT coalesce(json_agg(candidate), '[]')::text FROM (
      SELECT id, CASE WHEN $8::boolean THEN labels ELSE '{}' END AS labels, max_sandboxes, svc_on_worker_17(id) AS active
        FROM workers
        WHERE $3::boolean AND id <> 'local' AND drain = 0 AND status = 'online' AND rpc_url IS NOT NULL
          AND last_heartbeat > $4
          AND (NOT $5::boolean OR '${SESSIONS}' IN (SELECT json_array_elements_text(capabilities::json)))
          AND $1 IN (SELECT json_array_elements_text(providers::json))) AS candidate) AS candidates,
    (SELECT to_json(c)::text FROM (SELECT sandbox_id, fingerprint, response FROM idempotency AS claim
      WHERE scope = $6 AND key = $7 AND (response IS NOT NULL
        OR EXISTS (SELECT 1 FROM sandboxes WHERE id = claim.sandbox_id AND ${LIVE}))) AS c) AS replay`,
};

interface FactsRow {
  active_sandboxes: number;
  active_provider_sandboxes: number;
  active_owner_sandboxes: number;
  quota: string | null;
  local: string | null;
  candidates: string;
  replay: string | null;
}

export interface Judged {
  decision: AdmissionDecision;
  quota: Quota | undefined;
  replay: Replay | undefined;
}

/** Reads and decides. Writes nothing. */
export async function judge(
  work: Work,
  request: AdmissionRequest,
  limits: AdmissionLimits,
  claim?: IdempotencyClaim,
): Promise<Judged> {
  const { provider, owner_id = null } = request;
  const { remote = false, heartbeat_after = '', sessions = false, demand } = limits.placement ?? {};
  const key = [claim?.scope ?? null, claim?.key ?? null];
  const values = [provider, owner_id, remote, heartbeat_after, sessions, ...key, demand !== undefined];
  const row = (await work.read<FactsRow & Record<string, unknown>>({ ...FACTS, values }))[0]!;
  const quota = row.quota === null ? undefined : (JSON.parse(row.quota) as Quota);
  const facts = factsOf(row, owner_id !== null, quota, limits);
  if (facts.placement?.is_lost && limits.placement) {
    const unmet = await whyUnmet(work, provider, limits.placement);
    if (unmet) facts.placement = { ...facts.placement, unmet };
  }
  const decision = decideAdmission(request, limits, facts);
  return { decision, quota, replay: row.replay === null ? undefined : replayOf(JSON.parse(row.replay)) };
}

function factsOf(
  row: FactsRow,
  hasOwner: boolean,
  quota: Quota | undefined,
  limits: AdmissionLimits,
): AdmissionFacts {
  const { active_sandboxes, active_provider_sandboxes, active_owner_sandboxes } = row;
  const usage = { active_sandboxes, active_provider_sandboxes, ...(hasOwner && { active_owner_sandboxes }) };
  return { usage, quota, ...(limits.placement && { placement: placementOf(row, limits) }) };
}

/** A worker as a demand sees it. `labels` is a JSON object; of candidates it is empty unless the request has a demand. */
type Candidate = PlacementCandidate & { labels: string };

function placementOf(row: FactsRow, { placement, max_provider_sandboxes }: AdmissionLimits): Placement {
  const meetsDemand = ({ id, labels }: Pick<Candidate, 'id' | 'labels'>) =>
    meets({ id, labels: parse(labels) as Record<string, string> }, placement?.demand);
  const { drain, labels } = (row.local === null ? NO_LOCAL : JSON.parse(row.local)) as typeof NO_LOCAL;
  const hasLocal = placement?.local === true && drain === 0 && meetsDemand({ id: LOCAL_WORKER, labels });
  const is_full = reached(row.active_provider_sandboxes, max_provider_sandboxes);
  const candidates = JSON.parse(row.candidates) as Candidate[];
  return placeSandbox(hasLocal ? { is_full } : undefined, candidates.filter(meetsDemand));
}

/** The server itself before its first heartbeat. */
const NO_LOCAL = { drain: 0, labels: '{}' };

/** Read only after a refusal, because the labels of all workers may be large. */
const KNOWN: Statement = {
  name: 'admission-known-workers',
  text: `SELECT id, labels, providers, drain <> 0 OR status = 'draining' AS draining,
      id = 'local' OR (status <> 'offline' AND rpc_url IS NOT NULL AND last_heartbeat > $1) AS reachable FROM workers`,
};

async function whyUnmet(
  work: Work,
  provider: string,
  { demand, heartbeat_after }: PlacementLimits,
): Promise<Unmet | undefined> {
  if (demand === undefined) return undefined;
  const rows = await work.read<{
    id: string;
    labels: string;
    providers: string;
    draining: boolean;
    reachable: boolean;
  }>({ ...KNOWN, values: [heartbeat_after] });
  const workers = rows.map(
    ({ id, labels, providers, draining, reachable }): KnownWorker => ({
      id,
      labels: parse(labels) as Record<string, string>,
      providers: parse(providers) as string[],
      isDraining: draining,
      isReachable: reachable,
    }),
  );
  return unmetDemand(demand, provider, workers);
}
