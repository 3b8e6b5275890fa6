// The audit of changes and admin calls, as the edges record and read it.
import type { AuditDraft, AuditQuery, AuditRecord } from '../../schema/audit.ts';

export interface AuditPage {
  records: AuditRecord[];
  next_cursor?: string;
}

export interface AuditLog {
  /** Queues the record and returns at once; never throws. */
  record(draft: AuditDraft): void;
  /**
   * Newest first, including everything recorded before the call. Throws `bad_request` for an invalid timestamp or
   * cursor.
   */
  list(query: AuditQuery): Promise<AuditPage>;
}
