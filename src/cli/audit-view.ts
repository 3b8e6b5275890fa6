// How the audit is shown to people.
import type { AuditRecord } from '../schema/audit.ts';
import { type Column, table } from './render.ts';

const COLUMNS: Column<AuditRecord>[] = [
  { title: 'time', value: ({ created_at }) => created_at },
  { title: 'actor', value: ({ actor }) => actor },
  { title: 'for', value: ({ user_id }) => user_id },
  { title: 'method', value: ({ method }) => method },
  { title: 'path', value: ({ path }) => path },
  { title: 'status', value: ({ status }) => status, align: 'right' },
  { title: 'took', value: ({ duration_ms }) => `${Math.round(duration_ms)} ms`, align: 'right' },
  { title: 'from', value: ({ remote_addr }) => remote_addr },
  { title: 'request', value: ({ request_id }) => request_id },
];

export function auditTable(records: readonly AuditRecord[]): string {
  return table(records, COLUMNS, 'No admin calls are recorded that fit.');
}
