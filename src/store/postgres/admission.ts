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
import type { Quota } from '../../schema/quota.ts';
import type { IdempotencyClaim, Replay } from '../store.ts';
import type { Statement } from './connection.ts';
import { replayOf } from './idempotency.ts';
import { PLACES, type PlacesRow, placementOf, placesValues, whyUnmet } from './places.ts';
import { LIVE, QUOTA_COLUMNS } from './quotas.ts';
import type { Work } from './work.ts';

const FACTS: Statement = {
  name: 'admission-facts',
  text: `SELECT
    (SELECT coalesce(sum(active), 0) FROM active_counts) AS active_sandboxes,
    svc_active_17($1) AS active_provider_sandboxes,
    (SELECT count(*) FROM sandboxes WHERE owner_id = $7 AND ${LIVE}) AS active_owner_sandboxes,
    (SELECT to_json(q)::text FROM (SELECT ${QUOTA_COLUMNS} FROM owner_quotas WHERE owner_id = $7) AS q) AS quota,
    ${PLACES},
    (SELECT to_json(c)::text FROM (SELECT sandbox_id, fingerprint, response FROM idempotency AS claim
      WHERE scope = $8 AND key = $9 AND (response IS NOT NULL
        OR EXISTS (SELECT 1 FROM sandboxes WHERE id = claim.sandbox_id AND ${LIVE}))) AS c) AS replay`,
};

interface FactsRow extends PlacesRow {
  active_sandboxes: number;
  active_provider_sandboxes: number;
  active_owner_sandboxes: number;
  quota: string | null;
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
  const key = [claim?.scope ?? null, claim?.key ?? null];
  const values = [...placesValues(provider, limits.placement), owner_id, ...key];
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
  const { placement, max_provider_sandboxes } = limits;
  if (!placement) return { usage, quota };
  const isLocalFull = reached(active_provider_sandboxes, max_provider_sandboxes);
  return { usage, quota, placement: placementOf(row, placement, isLocalFull) };
}
