// Bounds audit records, which mostly quote callers, and writes them as CSV with formulas escaped.
import { LONGEST_ACTOR } from '../schema/actor.ts';
import type { AuditDraft, AuditRecord } from '../schema/audit.ts';
import { csvLine } from './csv.ts';

const BOUNDS = {
  actor: LONGEST_ACTOR,
  user_id: 128,
  method: 16,
  path: 1024,
  request_id: 128,
  remote_addr: 64,
  user_agent: 256,
  target: 512,
};

/** Actors without a proven key. Anyone can cause their records, so only the newest are kept. */
export const UNPROVEN_ACTORS = ['none', 'anonymous'] as const;

const EACH_BOUND = Object.entries(BOUNDS) as [keyof typeof BOUNDS, number][];

export function boundedAudit(draft: AuditDraft): AuditDraft {
  const bounded = { ...draft };
  for (const [name, length] of EACH_BOUND)
    if (bounded[name] !== undefined) bounded[name] = bounded[name].slice(0, length);
  return bounded;
}

/** The columns of tables of records. */
export const AUDIT_COLUMNS = [
  'id',
  'created_at',
  'actor',
  'user_id',
  'method',
  'path',
  'status',
  'duration_ms',
  'request_id',
  'remote_addr',
  'user_agent',
  'target',
] as const satisfies readonly (keyof AuditRecord)[];

/** RFC 4180 with a header line. */
export function auditCsv(records: readonly AuditRecord[]): string {
  const lines = records.map((record) => AUDIT_COLUMNS.map((column) => record[column]));
  return [AUDIT_COLUMNS, ...lines].map((line) => csvLine(line)).join('');
}
