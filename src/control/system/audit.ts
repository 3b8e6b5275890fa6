// The audit of changes and admin calls: written in batches off the path of requests, read in pages. A kill may lose the last 50
// ms, a clean stop loses nothing; stored records survive a power failure.
import { boundedAudit } from '../../domain/audit.ts';
import { formatCursor, parseCursor } from '../../domain/cursor.ts';
import { defined } from '../../domain/defined.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { BatchWriter, type Writer } from '../../events/batch-writer.ts';
import type { AuditDraft, AuditQuery } from '../../schema/audit.ts';
import type { AuditFilter, AuditStore } from '../../store/seam/audit.ts';
import type { AuditLog, AuditPage } from '../api/system.ts';

const PAGE = 100;
const WAITING_LIMIT = 10_000;
/** Each batch is synced to the disk. */
const LINGER_MS = 50;
const STAMP = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/;

export interface AuditDeps {
  audit: AuditStore;
  clock: Clock;
  logger: Logger;
  /** Copies without secrets: callers choose paths and user agents, and the audit is kept for long. */
  redact(value: unknown): unknown;
}

export class AuditTrail implements AuditLog {
  readonly #store: AuditStore;
  readonly #writer: Writer<AuditDraft>;
  readonly #redact: AuditDeps['redact'];

  constructor({ audit, clock, logger, redact }: AuditDeps) {
    this.#store = audit;
    this.#redact = redact;
    this.#writer = new BatchWriter<AuditDraft>({
      append: (drafts) => audit.append(drafts),
      limit: WAITING_LIMIT,
      lingerMs: LINGER_MS,
      what: 'audit records',
      clock,
      logger,
    });
  }

  record(draft: AuditDraft): void {
    this.#writer.publish(boundedAudit(this.#redact(draft) as AuditDraft));
  }

  async list(query: AuditQuery): Promise<AuditPage> {
    const filter = parseFilter(query);
    await this.#writer.flush();
    // Requests one more than the page to know whether there is another page.
    const rows = await this.#store.list({ ...filter, limit: filter.limit + 1 });
    const records = rows.slice(0, filter.limit);
    const last = records.at(-1);
    if (!last || rows.length <= filter.limit) return { records };
    return { records, next_cursor: formatCursor({ created_at: last.created_at, id: String(last.id) }) };
  }

  /** Writes waiting records; later records are dropped. */
  close(): Promise<void> {
    return this.#writer.close();
  }
}

function parseFilter({ limit = PAGE, cursor, since, until, format: _, ...exact }: AuditQuery): AuditFilter {
  return defined({
    ...exact,
    method: exact.method?.toUpperCase(),
    limit,
    since: since === undefined ? undefined : stampOf(since, 'since'),
    until: until === undefined ? undefined : stampOf(until, 'until'),
    after: cursor === undefined ? undefined : positionOf(cursor),
  });
}

function positionOf(cursor: string): { created_at: string; id: number } {
  const { created_at, id } = parseCursor(cursor);
  // Every id of this list is a number.
  if (!/^\d{1,15}$/.test(id)) throw new ServiceError('bad_request', 'cursor is not one of this list.');
  return { created_at, id: Number(id) };
}

/** Formats as stored timestamps: UTC with ms. */
function stampOf(text: string, field: string): string {
  const moment = STAMP.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(moment)) return new Date(moment).toISOString();
  throw new ServiceError('bad_request', `${field} is not a timestamp.`, {
    remedy: 'Write it like 2026-01-31T12:00:00Z.',
  });
}
