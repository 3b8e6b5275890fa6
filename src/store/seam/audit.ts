// THE STORE SEAM: the audit of administration. store.ts has the rules for all tables.
import type { AuditDraft, AuditRecord } from '../../schema/audit.ts';

export interface AuditFilter {
  actor?: string;
  target?: string;
  method?: string;
  status?: number;
  /** A part of the path, matched literally. */
  path?: string;
  /** The first included stamp. */
  since?: string;
  /** The first excluded stamp. */
  until?: string;
  limit: number;
  /** The last record of the previous page. */
  after?: { created_at: string; id: number };
}

export interface AuditBounds {
  keepUnproven: number;
  keepFrequent: number;
}

export interface AuditStore {
  /** One transaction, as durable as records of sandboxes; ids increase in order. */
  append(drafts: AuditDraft[]): Promise<void>;
  /** Newest first (created_at, then id, both descending). */
  list(filter: AuditFilter): Promise<AuditRecord[]>;
  /**
   * Deletes records older than `before`, all but the newest `keepUnproven` of unproven actors
   * (`domain/audit.UNPROVEN_ACTORS`), and frequent ones that are not among the newest `keepFrequent` records of all.
   * Returns the number deleted.
   */
  purge(before: string, keep: AuditBounds): Promise<number>;
}
