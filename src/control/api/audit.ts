// The audit of admin calls, as the edges record and read it.
import type { AuditDraft, AuditQuery, AuditRecord } from '../../schema/audit.ts';

export interface AuditPage {
  records: AuditRecord[];
  next_cursor?: string;
}

export interface AuditLog {
  /** Takes it and returns at once; never throws. */
  record(draft: AuditDraft): void;
  /** Newest first, with all that was recorded before the call. Throws `bad_request` for a stamp or cursor that is none. */
  list(query: AuditQuery): Promise<AuditPage>;
}
