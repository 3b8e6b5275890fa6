// What the control plane offers of limits of owners.
import type { Quota, QuotaListQuery, QuotaRequest, QuotaSummary, QuotaUsage } from '../../schema/quota.ts';
import type { Caller } from './caller.ts';

/**
 * Limits of single owners. Under owner enforcement a caller without an admin key sees only its own quota: others are
 * `not_found`.
 */
export interface Quotas {
  /** Newest first. */
  list(query: QuotaListQuery, caller: Caller): Promise<{ quotas: Quota[]; next_cursor?: string }>;
  get(owner_id: string, caller: Caller): Promise<Quota>;
  /** Full replacement: what is omitted inherits. In force from the next spawn, extension or exec on. */
  put(owner_id: string, request: QuotaRequest, caller: Caller): Promise<Quota>;
  delete(owner_id: string, caller: Caller): Promise<void>;
  /** Also of an owner without a quota, or without any sandbox ever. */
  usage(owner_id: string, caller: Caller): Promise<QuotaUsage>;
  /** Counts without names: for every caller. */
  summary(): Promise<QuotaSummary>;
}
