// THE STORE SEAM: quotas of owners. store.ts has the rules for all tables.
import type { EventDraft } from '../../schema/event.ts';
import type { Quota, QuotaSummary } from '../../schema/quota.ts';

export interface OwnerUse {
  owner_id: string;
  active_sandboxes: number;
  quota?: Quota;
}

export interface QuotaStore {
  get(owner_id: string): Promise<Quota | undefined>;
  /** Newest first (created_at, then owner_id, both descending), starting after `after`. */
  list(limit: number, after?: { created_at: string; id: string }): Promise<Quota[]>;
  /** Creates or replaces a quota, keeping `created_at`, with the events in the same transaction. */
  put(quota: Quota, events: readonly EventDraft[]): Promise<{ quota: Quota; events: EventDraft[] }>;
  /** Undefined, with nothing written, if there is no quota. */
  delete(owner_id: string, events: readonly EventDraft[]): Promise<{ events: EventDraft[] } | undefined>;
  /** The owner's active sandboxes and quota, in one read. */
  usage(owner_id: string): Promise<{ active_sandboxes: number; quota?: Quota }>;
  summary(): Promise<QuotaSummary>;
  /**
   * Everybody who has a sandbox, also an ended one whose row is kept, a quota or use in the ledger: by their bytes, starting after
   * `after`. Each with what `usage` reads.
   */
  owners(limit: number, after?: string): Promise<OwnerUse[]>;
  /** How many active sandboxes of the owner end later than this. */
  endingAfter(owner_id: string, stamp: string): Promise<number>;
}
