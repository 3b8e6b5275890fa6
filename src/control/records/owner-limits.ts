// The limits in force for one owner, read when they are needed: a quota that was saved counts from then on.
import { effectiveLimits, type OwnerLimits } from '../../domain/quota.ts';
import type { QuotaStore } from '../../store/seam/quotas.ts';

/** Without an owner the defaults. */
export type LimitsOf = (owner_id: string | undefined) => Promise<OwnerLimits>;

export function ownerLimits(quotas: Pick<QuotaStore, 'get'>, defaults: OwnerLimits): LimitsOf {
  return async (owner_id) =>
    owner_id === undefined ? defaults : effectiveLimits(await quotas.get(owner_id), defaults);
}
