// Records of the audit: bounded, since most of what they hold is the caller's word, and as CSV that no spreadsheet runs.
import type { AuditDraft, AuditRecord } from '../schema/audit.ts';

const BOUNDS = {
  actor: 64,
  user_id: 128,
  method: 16,
  path: 1024,
  request_id: 128,
  remote_addr: 64,
  user_agent: 256,
};

/** Actors that proved no key: their records are anybody's to make, so only the newest are kept. */
export const UNPROVEN_ACTORS = ['none', 'anonymous'] as const;

/** `draft` with every text cut to its bound. */
export function boundedAudit(draft: AuditDraft): AuditDraft {
  const bounded = { ...draft };
  for (const [name, length] of Object.entries(BOUNDS) as [keyof typeof BOUNDS, number][])
    if (bounded[name] !== undefined) bounded[name] = bounded[name].slice(0, length);
  return bounded;
}

/** Fields of a record, as tables of it show them. */
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
] as const satisfies readonly (keyof AuditRecord)[];

/** RFC 4180 with a line of names. */
export function auditCsv(records: readonly AuditRecord[]): string {
  const lines = [
    AUDIT_COLUMNS,
    ...records.map((record) => AUDIT_COLUMNS.map((column) => cell(record[column]))),
  ];
  return lines.map((line) => `${line.join(',')}\r\n`).join('');
}

/** Also in full width, which spreadsheets read as the plain sign, and behind what nobody sees. */
const FORMULA =
  /^[\s\p{Cc}\p{Cf}\p{DI}]*[=+\-@|%\uff1d\uff0b\uff0d\uff20\uff5c\uff05\u2212\ufe62\ufe63\ufe66\ufe6b\ufe6a]|^\s/u;

/** A text that a spreadsheet would take for a formula gets an apostrophe in front, which makes it text. */
function cell(value: string | number | undefined): string {
  if (value === undefined || typeof value === 'number') return String(value ?? '');
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) || text !== value ? `"${text.replaceAll('"', '""')}"` : text;
}
