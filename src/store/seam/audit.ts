// THE STORE SEAM: the audit of administration. store.ts says what holds for all.
import type { AuditDraft, AuditRecord } from '../../schema/audit.ts';

export interface AuditFilter {
  actor?: string;
  method?: string;
  status?: number;
  /** A part of the path, taken literally. */
  path?: string;
  /** First stamp. */
  since?: string;
  /** First stamp that is too late. */
  until?: string;
  limit: number;
  /** The last record of the page before. */
  after?: { created_at: string; id: number };
}

export interface AuditStore {
  /** One transaction, as durable as records of sandboxes; ids rise in order. */
  append(drafts: AuditDraft[]): Promise<void>;
  /** Newest first (created_at, then id, both descending). */
  list(filter: AuditFilter): Promise<AuditRecord[]>;
  /**
   * Deletes what was made before `before`, and of unproven actors (`domain/audit.UNPROVEN_ACTORS`) all but the newest
   * `keepUnproven`; the number deleted.
   */
  purge(before: string, keepUnproven: number): Promise<number>;
}
