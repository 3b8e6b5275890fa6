// The limits that apply to one owner, read on each use: a saved quota applies at once.
import { effectiveLimits, type OwnerLimits } from '../../domain/quota.ts';
import type { QuotaStore } from '../../store/seam/quotas.ts';

/** Returns the defaults without an owner. */
export type LimitsOf = (owner_id: string | undefined) => Promise<OwnerLimits>;

export function ownerLimits(
  quotas: Pick<QuotaStore, 'get'>,
  settings: { readonly ownerLimits: OwnerLimits },
): LimitsOf {
  return async (owner_id) => {
    const quota = owner_id === undefined ? undefined : await quotas.get(owner_id);
    return effectiveLimits(quota, settings.ownerLimits);
  };
}
