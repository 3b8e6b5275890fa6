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
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Quota } from '../../schema/quota.ts';
import type { IdempotencyClaim, Replay } from '../store.ts';
import type { Statement } from './connection.ts';
import { replayOf } from './idempotency.ts';
import { type PlacesRow, placementOf, placesOf, whyUnmet } from './places.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

const FACTS: Statement = {
  name: 'admission-facts',
  text: 'SELECT total, of_provider, of_owner, quota, local, candidates, replay FROM svc_admission_facts_26($1::jsonb)',
};

interface FactsRow {
  total: number;
  of_provider: number;
  of_owner: number | null;
  quota: string | null;
  local: string | null;
  candidates: string | null;
  replay: string | null;
}

/** What is asked about one sandbox. */
export interface Ask {
  request: AdmissionRequest;
  limits: AdmissionLimits;
  claim?: IdempotencyClaim | undefined;
}

export interface Judged {
  decision: AdmissionDecision;
  facts: AdmissionFacts;
  quota: Quota | undefined;
  replay: Replay | undefined;
  /** Earlier asks count as admitted in this decision. */
  isAfterOthers: boolean;
}

/** Reads and decides. Writes nothing. */
export async function judge(work: Work, ask: Ask): Promise<AdmissionDecision> {
  const [judged] = await judgeAll(work, [ask]);
  return explained(work, ask, judged!);
}

/** Decides about each ask as if the earlier ones that were allowed had been admitted. Gives no reasons why no worker fits. */
export async function judgeAll(work: Work, asks: readonly Ask[]): Promise<Judged[]> {
  const rows = await work.read<FactsRow>({ ...FACTS, values: [encodeJson(asks.map(askedOf))] });
  const admitted: Admitted[] = [];
  let places: PlacesRow = { local: null, candidates: '[]' };
  return rows.map((row, at) => {
    const ask = asks[at]!;
    const { request, limits } = ask;
    const { candidates } = row;
    if (candidates !== null) places = { local: row.local, candidates };
    const quota = row.quota === null ? undefined : (JSON.parse(row.quota) as Quota);
    const replay = row.replay === null ? undefined : replayOf(JSON.parse(row.replay));
    const isAfterOthers = admitted.length > 0;
    const facts = factsOf(row, places, quota, ask, admitted);
    const decision = decideAdmission(request, limits, facts);
    if (decision.allowed && !replay) {
      const { provider, owner_id } = request;
      admitted.push({ provider, owner_id, worker_id: decision.placement?.worker_id ?? LOCAL_WORKER });
    }
    return { decision, facts, quota, replay, isAfterOthers };
  });
}

/** The decision with the reason why no worker fits a demand, which needs another query. */
export async function explained(
  work: Work,
  { request, limits }: Ask,
  judged: Judged,
): Promise<AdmissionDecision> {
  const { decision, facts } = judged;
  if (!facts.placement?.is_lost || !limits.placement) return decision;
  const unmet = await whyUnmet(work, request.provider, limits.placement);
  if (!unmet) return decision;
  return decideAdmission(request, limits, { ...facts, placement: { ...facts.placement, unmet } });
}

interface Admitted {
  provider: string;
  owner_id: string | undefined;
  worker_id: string;
}

function askedOf({ request: { provider, owner_id }, limits: { placement }, claim }: Ask) {
  return {
    provider,
    owner_id,
    ...(placement && { place: placesOf(placement) }),
    scope: claim?.scope,
    key: claim?.key,
  };
}

function factsOf(
  row: FactsRow,
  places: PlacesRow,
  quota: Quota | undefined,
  { request: { provider, owner_id }, limits: { placement, max_provider_sandboxes } }: Ask,
  admitted: readonly Admitted[],
): AdmissionFacts {
  const here = admitted.filter((other) => other.worker_id === LOCAL_WORKER && other.provider === provider);
  const active_provider_sandboxes = row.of_provider + here.length;
  const ofOwner = admitted.filter((other) => other.owner_id === owner_id).length;
  const usage = {
    active_sandboxes: row.total + admitted.length,
    active_provider_sandboxes,
    ...(owner_id !== undefined && { active_owner_sandboxes: (row.of_owner ?? 0) + ofOwner }),
  };
  if (!placement) return { usage, quota };
  const isLocalFull = reached(active_provider_sandboxes, max_provider_sandboxes);
  const added = (id: string) => admitted.filter((other) => other.worker_id === id).length;
  return { usage, quota, placement: placementOf(places, placement, isLocalFull, added) };
}
