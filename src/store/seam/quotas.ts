// THE STORE SEAM: limits of single owners. store.ts says what holds for all.
import type { Event, EventDraft } from '../../schema/event.ts';
import type { Quota, QuotaSummary } from '../../schema/quota.ts';

export interface QuotaStore {
  get(owner_id: string): Promise<Quota | undefined>;
  /** Newest first (created_at, then owner_id, both descending), those after `after`. */
  list(limit: number, after?: { created_at: string; id: string }): Promise<Quota[]>;
  /** Makes or replaces, `created_at` staying as it was; the events in the same transaction. */
  put(quota: Quota, events: EventDraft[]): Promise<{ quota: Quota; events: Event[] }>;
  /** Undefined when there was none: nothing is written then. */
  delete(owner_id: string, events: EventDraft[]): Promise<{ events: Event[] } | undefined>;
  /** Rows of the owner that have not ended, and its quota, in one read. */
  usage(owner_id: string): Promise<{ active_sandboxes: number; quota?: Quota }>;
  summary(): Promise<QuotaSummary>;
}
