// Bounds audit records, which mostly quote callers, and writes them as CSV with formulas escaped.
import { LONGEST_ACTOR } from '../schema/actor.ts';
import type { AuditDraft, AuditRecord } from '../schema/audit.ts';

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

export function boundedAudit(draft: AuditDraft): AuditDraft {
  const bounded = { ...draft };
  for (const [name, length] of Object.entries(BOUNDS) as [keyof typeof BOUNDS, number][])
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
  const lines = [
    AUDIT_COLUMNS,
    ...records.map((record) => AUDIT_COLUMNS.map((column) => cell(record[column]))),
  ];
  return lines.map((line) => `${line.join(',')}\r\n`).join('');
}

/** Also matches full-width signs, which spreadsheets read as plain ones, and signs behind invisible characters. */
const FORMULA =
  /^[\s\p{Cc}\p{Cf}\p{DI}]*[=+\-@|%\uff1d\uff0b\uff0d\uff20\uff5c\uff05\u2212\ufe62\ufe63\ufe66\ufe6b\ufe6a]|^\s/u;

/** Prefixes a text that a spreadsheet would read as a formula with an apostrophe. */
function cell(value: string | number | undefined): string {
  if (value === undefined || typeof value === 'number') return String(value ?? '');
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) || text !== value ? `"${text.replaceAll('"', '""')}"` : text;
}
