// The audit table in PostgreSQL. Text from requests never becomes SQL.
import { AUDIT_COLUMNS } from '../../domain/audit.ts';
import type { Ids } from '../../domain/ports.ts';
import type { AuditRecord } from '../../schema/audit.ts';
import type { AuditFilter, AuditStore } from '../seam/audit.ts';
import { selected } from './conditions.ts';
import type { Statement } from './connection.ts';
import { deleting, sweep } from './sweeps.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

/** The table assigns `id`. */
const COLUMNS = AUDIT_COLUMNS.filter((column) => column !== 'id').join(', ');
type Row = { [K in keyof AuditRecord]-?: AuditRecord[K] | null };

const APPEND: Statement = {
  name: 'audit-append',
  text: `INSERT INTO audit (${COLUMNS}, frequent, eid)
    SELECT ${COLUMNS}, frequent, eid FROM jsonb_populate_recordset(NULL::audit, $1::jsonb)
    ON CONFLICT (eid) DO NOTHING`,
};
/** The partial index serves only a query that repeats its condition. */
const UNPROVEN = "actor IN ('none', 'anonymous')";
const OLD = deleting('audit-old', 'audit', 'id', 'WHERE created_at < $1 ORDER BY created_at, id LIMIT $2');
const FREQUENT = deleting(
  'audit-frequent',
  'audit',
  'id',
  'WHERE frequent = 1 AND id <= (SELECT id FROM audit ORDER BY id DESC OFFSET $1 LIMIT 1) ORDER BY id LIMIT $2',
);
const MANY_UNPROVEN = deleting(
  'audit-unproven',
  'audit',
  'id',
  `WHERE ${UNPROVEN} AND (created_at, id) <= (SELECT created_at, id FROM audit WHERE ${UNPROVEN}
     ORDER BY created_at DESC, id DESC OFFSET $1 LIMIT 1) ORDER BY created_at, id LIMIT $2`,
);

export function auditStore(work: Work, ids: Ids): AuditStore {
  return {
    append: async (drafts) => {
      if (drafts.length === 0) return;
      const rows = drafts.map((draft) => ({ ...draft, frequent: draft.frequent ? 1 : 0, eid: ids.uuid() }));
      await work.write({ ...APPEND, values: [encodeJson(rows)] });
    },
    list: async (filter) => (await work.read<Row>(listing(filter))).map(fromRow),
    purge: async (before, { keepUnproven, keepFrequent }) =>
      (await sweep(work, OLD, [before])) +
      (await sweep(work, FREQUENT, [keepFrequent])) +
      (await sweep(work, MANY_UNPROVEN, [keepUnproven])),
  };
}

/** A statement for each used combination of filters: at most 256. */
function listing(filter: AuditFilter): Statement {
  const { after } = filter;
  const { where, values, shape } = selected([
    ['actor = ?', [filter.actor]],
    ['target = ?', [filter.target]],
    ['method = ?', [filter.method]],
    ['status = ?', [filter.status]],
    ['strpos(path, ?) > 0', [filter.path]],
    ['created_at >= ?', [filter.since]],
    ['created_at < ?', [filter.until]],
    ['(created_at, id) < (?, ?)', [after?.created_at, after?.id]],
  ]);
  return {
    name: `audit-list-${shape}`,
    text: `SELECT id, ${COLUMNS} FROM audit WHERE ${where} ORDER BY created_at DESC, id DESC LIMIT $${values.length + 1}`,
    values: [...values, filter.limit],
  };
}

function fromRow(row: Row): AuditRecord {
  const values = Object.entries(row).filter(([, value]) => value !== null);
  return Object.fromEntries(values) as unknown as AuditRecord;
}
