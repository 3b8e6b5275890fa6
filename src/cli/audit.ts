// The work of `svc audit`: from its flags to a query, and pages of records as a table or as CSV.
import type { Client } from '../client/client.ts';
import { parseDuration } from '../domain/duration.ts';
import { ServiceError } from '../domain/errors.ts';
import type { AuditQuery, AuditRecord } from '../schema/audit.ts';
import { type Column, tableOrBlocks } from './render.ts';

/** Records of one request. */
const PAGE = 1000;

export interface AuditFlags {
  actor?: string | undefined;
  target?: string | undefined;
  method?: string | undefined;
  status?: number | undefined;
  path?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  limit: number;
}

/** Throws `bad_request` for a time that is neither a timestamp nor a duration. */
export function auditFilter(flags: AuditFlags, now: number): AuditQuery {
  const { actor, target, method, status, path, since, until } = flags;
  return {
    ...(actor !== undefined && { actor }),
    ...(target !== undefined && { target }),
    ...(method !== undefined && { method: method.toUpperCase() }),
    ...(status !== undefined && { status }),
    ...(path !== undefined && { path }),
    ...(since !== undefined && { since: moment(since, '--since', now) }),
    ...(until !== undefined && { until: moment(until, '--until', now) }),
  };
}

/** Reads a duration as that long before `now`. */
function moment(text: string, flag: string, now: number): string {
  if (/^\d+[hms]/.test(text)) return new Date(now - parseDuration(text, flag)).toISOString();
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new ServiceError('bad_request', `${flag} is not a time.`, {
    remedy: 'Write it like 2026-01-31T12:00:00Z, or like 24h for 24 hours ago.',
  });
}

type Admin = Pick<Client['admin'], 'auditPage' | 'auditCsvPage'>;

/** The newest `limit` records. */
export async function auditRecords(admin: Admin, filter: AuditQuery, limit: number): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await admin.auditPage(pageOf(filter, limit - records.length, cursor));
    records.push(...page.records);
    cursor = page.next_cursor;
  } while (cursor !== undefined && records.length < limit);
  return records;
}

/** The same as CSV, page by page, with one header line. */
export async function* auditCsvPages(
  admin: Admin,
  filter: AuditQuery,
  limit: number,
): AsyncGenerator<string> {
  let cursor: string | undefined;
  for (let left = limit; left > 0; left -= PAGE) {
    const page = await admin.auditCsvPage(pageOf(filter, left, cursor));
    yield cursor === undefined ? page.csv : page.csv.slice(page.csv.indexOf('\r\n') + 2);
    cursor = page.next_cursor;
    if (cursor === undefined) return;
  }
}

function pageOf(filter: AuditQuery, left: number, cursor: string | undefined): AuditQuery {
  return { ...filter, limit: Math.min(left, PAGE), ...(cursor !== undefined && { cursor }) };
}

const COLUMNS: Column<AuditRecord>[] = [
  { title: 'time', value: ({ created_at }) => created_at },
  { title: 'actor', value: ({ actor }) => actor },
  { title: 'for', value: ({ user_id }) => user_id },
  { title: 'method', value: ({ method }) => method },
  { title: 'path', value: ({ path }) => path },
  { title: 'target', value: ({ target }) => target },
  { title: 'status', value: ({ status }) => status, align: 'right' },
  { title: 'took', value: ({ duration_ms }) => `${Math.round(duration_ms)} ms`, align: 'right' },
  { title: 'from', value: ({ remote_addr }) => remote_addr },
  { title: 'request', value: ({ request_id }) => request_id },
];

export function auditTable(records: readonly AuditRecord[]): string {
  return tableOrBlocks(records, COLUMNS, 'No calls match.');
}
