// Decides whether a spawn fits its limits. The spawn and its dry run use the same decision, each inside one transaction
// of the store.
import type { AdmissionReason } from '../schema/admission.ts';
import type { Quota } from '../schema/quota.ts';
import { formatDuration } from './duration.ts';
import type { Placement, PlacementLimits } from './placement.ts';
import type { PoolLimits } from './pool.ts';
import { effectiveLimits, type OwnerLimits } from './quota.ts';

export interface AdmissionRequest {
  provider: string;
  owner_id?: string;
  /** The requested lifetime. */
  ttlMs: number;
}

/** The effective limits of one request; 0 means unlimited. */
export interface AdmissionLimits {
  max_sandboxes: number;
  /** The limit of the request's provider on this server; absent means unlimited. */
  max_provider_sandboxes?: number;
  /** The limits of owners without their own quota; absent means unlimited. */
  owner?: OwnerLimits;
  /** Present if sandboxes share VMs. */
  pool?: PoolLimits;
  /** Present if a worker is chosen; otherwise this server runs the sandbox. */
  placement?: PlacementLimits;
  /** Set if it is known before counting that no worker can run the sandbox. */
  unplaceable?: 'provider_unknown' | 'worker_unavailable';
}

/** Rows that have not ended, counted in the same transaction. */
export interface AdmissionUsage {
  active_sandboxes: number;
  /** Rows of the request's provider on this server. */
  active_provider_sandboxes: number;
  /** Rows of the request's owner; absent without an owner. */
  active_owner_sandboxes?: number;
}

export interface AdmissionDecision extends AdmissionUsage {
  allowed: boolean;
  reason?: AdmissionReason;
  message?: string;
  max_sandboxes: number;
  max_provider_sandboxes: number;
  /** The owner's effective limit; absent without an owner. */
  max_owner_sandboxes?: number;
  maxTtlMs: number;
  /** The chosen worker; only if a worker is chosen. */
  placement?: Placement;
}

/** What the deciding transaction reads. */
export interface AdmissionFacts {
  usage: AdmissionUsage;
  /** The owner's own quota. */
  quota: Quota | undefined;
  /** True if no VM has capacity for the owner; absent without a pool. */
  pool_is_full?: boolean;
  /** Only if a worker is chosen. */
  placement?: Placement;
}

/** The admission request of a spawn's row. */
export function requestOfRow(row: {
  provider: string;
  owner_id?: string;
  created_at: string;
  expires_at: string;
}): AdmissionRequest {
  const { provider, owner_id, created_at, expires_at } = row;
  const ttlMs = Date.parse(expires_at) - Date.parse(created_at);
  return { provider, ...(owner_id !== undefined && { owner_id }), ttlMs };
}

const NO_CAPS: OwnerLimits = { max_sandboxes: 0, maxTtlMs: 0, maxExecTimeoutMs: 0 };

/** Pure; the first reason that applies, in the order of docs/design/api.md#admission. */
export function decideAdmission(
  request: AdmissionRequest,
  limits: AdmissionLimits,
  { usage, quota, pool_is_full = false, placement }: AdmissionFacts,
): AdmissionDecision {
  const owner = effectiveLimits(quota, limits.owner ?? NO_CAPS);
  const { max_sandboxes, max_provider_sandboxes = 0 } = limits;
  const facts = {
    ...usage,
    max_sandboxes,
    max_provider_sandboxes,
    ...(request.owner_id !== undefined && { max_owner_sandboxes: owner.max_sandboxes }),
    maxTtlMs: owner.maxTtlMs,
    ...(placement && { placement }),
  };
  const reason = refusal(request, facts, limits.unplaceable) ?? (pool_is_full ? 'pool_full' : undefined);
  return reason === undefined
    ? { allowed: true, ...facts }
    : { allowed: false, reason, message: words(reason, facts), ...facts };
}

type Facts = Omit<AdmissionDecision, 'allowed' | 'reason' | 'message'>;

function refusal(
  { ttlMs }: AdmissionRequest,
  facts: Facts,
  unplaceable: AdmissionLimits['unplaceable'],
): AdmissionReason | undefined {
  if (unplaceable === 'provider_unknown') return unplaceable;
  if (facts.maxTtlMs > 0 && ttlMs > facts.maxTtlMs) return 'max_ttl';
  if (unplaceable || facts.placement?.is_lost) return facts.placement?.unmet?.reason ?? 'worker_unavailable';
  if (reached(facts.active_sandboxes, facts.max_sandboxes)) return 'max_sandboxes';
  if (reached(facts.active_owner_sandboxes, facts.max_owner_sandboxes)) return 'max_sandboxes_per_owner';
  return hasRoom(facts) ? undefined : 'worker_capacity';
}

function hasRoom({ placement, ...facts }: Facts): boolean {
  if (placement) return placement.worker_id !== undefined;
  return !reached(facts.active_provider_sandboxes, facts.max_provider_sandboxes);
}

export const reached = (used = 0, cap = 0): boolean => cap > 0 && used >= cap;

function words(reason: AdmissionReason, facts: Facts): string {
  const texts: Record<AdmissionReason, string> = {
    provider_unknown: 'The provider does not exist.',
    max_ttl: `ttl is over the maximum of ${formatDuration(facts.maxTtlMs)}.`,
    worker_mismatch: facts.placement?.unmet?.message ?? 'No worker fits the request.',
    worker_unavailable: facts.placement?.unmet?.message ?? 'Nothing can start sandboxes now.',
    max_sandboxes: `All ${facts.max_sandboxes} sandboxes that this server allows are in use.`,
    max_sandboxes_per_owner: `All ${facts.max_owner_sandboxes} sandboxes that this owner may have are in use.`,
    worker_capacity:
      facts.max_provider_sandboxes > 0 && !facts.placement?.eligible
        ? `All ${facts.max_provider_sandboxes} sandboxes that this provider allows are in use.`
        : 'No worker has free capacity.',
    pool_full: 'All capacity of the pool is in use.',
  };
  return texts[reason];
}

const CAPACITY: readonly (AdmissionReason | undefined)[] = [
  'max_sandboxes',
  'max_sandboxes_per_owner',
  'worker_capacity',
  'pool_full',
];

/** True if the denial can resolve over time, so that the spawn may wait. */
export function isCapacityDenial({ reason }: Pick<AdmissionDecision, 'reason'>): boolean {
  return CAPACITY.includes(reason);
}

/** True if no checked worker has capacity, whatever the other limits allow. */
export function isPlaceless({ reason }: Pick<AdmissionDecision, 'reason'>): boolean {
  return reason === 'worker_mismatch' || reason === 'worker_unavailable' || reason === 'worker_capacity';
}

/** Chooses between the denials of two providers: one that only lacks capacity is worth waiting for, otherwise the first counts. */
export function betterDenial(first: AdmissionDecision, next: AdmissionDecision): AdmissionDecision {
  return !isCapacityDenial(first) && isCapacityDenial(next) ? next : first;
}
