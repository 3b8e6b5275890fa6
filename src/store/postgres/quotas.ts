// Owner quotas in PostgreSQL.
import type { Clock, Ids } from '../../domain/ports.ts';
import type { QuotaSummary } from '../../schema/quota.ts';
import { OWNERS } from '../owner-names.ts';
import { fromQuotaRow, type QuotaRow, toQuotaRow } from '../rows.ts';
import type { QuotaStore } from '../seam/quotas.ts';
import type { Statement } from './connection.ts';
import { type Numbering, outboxJson } from './outbox.ts';
import type { Work } from './work.ts';

export interface EventfulTable {
  work: Work;
  clock: Clock;
  ids: Ids;
  numbering: Numbering;
}

export const QUOTA_COLUMNS = 'owner_id, max_sandboxes, max_ttl, max_exec_timeout, created_at, updated_at';
const COLUMNS = `${QUOTA_COLUMNS}, egress`;
const SELECT = `SELECT ${COLUMNS} FROM owner_quotas`;
export const LIVE = "state IN ('creating', 'running', 'unhealthy', 'destroying')";

const GET: Statement = { name: 'quota', text: `${SELECT} WHERE owner_id = $1` };
const FIRST: Statement = {
  name: 'quotas-first',
  text: `${SELECT} ORDER BY created_at DESC, owner_id DESC LIMIT $1`,
};
const NEXT: Statement = {
  name: 'quotas-next',
  text: `${SELECT} WHERE (created_at, owner_id) < ($2, $3) ORDER BY created_at DESC, owner_id DESC LIMIT $1`,
};
const USAGE: Statement = {
  name: 'quota-usage',
  text: `SELECT (SELECT count(*) FROM sandboxes WHERE owner_id = $1 AND ${LIVE}) AS active_sandboxes,
    (SELECT to_json(q)::text FROM (${SELECT} WHERE owner_id = $1) AS q) AS quota`,
};
const OWNERS_PAGE: Statement = {
  name: 'quota-owners',
  text: `SELECT owner AS owner_id,
      (SELECT count(*) FROM sandboxes WHERE owner_id = owner AND ${LIVE}) AS active_sandboxes,
      (SELECT to_json(q)::text FROM (${SELECT} WHERE owner_id = owner) AS q) AS quota
    FROM (${OWNERS('$1::text COLLATE "C"', '$2')}) AS page ORDER BY owner`,
};
const ENDING: Statement = {
  name: 'quota-ending',
  text: `SELECT count(*) AS count FROM sandboxes WHERE owner_id = $1 AND ${LIVE} AND expires_at > $2`,
};
const SUMMARY: Statement = {
  name: 'quota-summary',
  text: `SELECT count(*) AS total, count(*) FILTER (WHERE max_sandboxes > 0) AS with_max_sandboxes,
    count(*) FILTER (WHERE max_ttl <> '0s') AS with_max_ttl,
    count(*) FILTER (WHERE max_exec_timeout <> '0s') AS with_max_exec_timeout FROM owner_quotas`,
};
const PUT: Statement = {
  name: 'quota-put',
  text: `WITH stored AS (
      INSERT INTO owner_quotas (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $8)
      ON CONFLICT (owner_id) DO UPDATE SET max_sandboxes = excluded.max_sandboxes, max_ttl = excluded.max_ttl,
        max_exec_timeout = excluded.max_exec_timeout, updated_at = excluded.updated_at, egress = excluded.egress
      RETURNING ${COLUMNS}
    ), told AS (SELECT svc_tell_17($7::jsonb))
    SELECT ${COLUMNS} FROM stored, told`,
};
const DELETE: Statement = {
  name: 'quota-delete',
  text: 'SELECT svc_delete_quota_17($1, $2::jsonb, $3, $4) AS done',
};

export function quotaStore({ work, ids, numbering }: EventfulTable): QuotaStore {
  return {
    get: async (owner_id) => (await work.read<QuotaRow>({ ...GET, values: [owner_id] })).map(fromQuotaRow)[0],
    list: async (limit, after) => {
      const query = after
        ? { ...NEXT, values: [limit, after.created_at, after.id] }
        : { ...FIRST, values: [limit] };
      return (await work.read<QuotaRow>(query)).map(fromQuotaRow);
    },
    put: async (quota, drafts) => {
      const { owner_id, max_sandboxes, max_ttl, max_exec_timeout, created_at, updated_at, egress } =
        toQuotaRow(quota);
      const facts = [owner_id, max_sandboxes, max_ttl, max_exec_timeout, created_at, updated_at];
      const values = [...facts, outboxJson(drafts, ids), egress];
      const [stored] = await work.write<QuotaRow>({ ...PUT, values });
      numbering.request();
      return { quota: fromQuotaRow(stored!), events: [...drafts] };
    },
    delete: async (owner_id, drafts) => {
      const values = [owner_id, outboxJson(drafts, ids)];
      const [row] = await work.once<{ done: boolean }>({ ...DELETE, values });
      if (!row?.done) return undefined;
      numbering.request();
      return { events: [...drafts] };
    },
    usage: async (owner_id) => {
      const [row] = await work.read<{ active_sandboxes: number; quota: string | null }>({
        ...USAGE,
        values: [owner_id],
      });
      const { active_sandboxes = 0, quota = null } = row ?? {};
      return {
        active_sandboxes,
        ...(quota !== null && { quota: fromQuotaRow(JSON.parse(quota) as QuotaRow) }),
      };
    },
    summary: async () => (await work.read<QuotaSummary>(SUMMARY))[0]!,
    owners: async (limit, after = '') => {
      const rows = await work.read<{ owner_id: string; active_sandboxes: number; quota: string | null }>({
        ...OWNERS_PAGE,
        values: [after, limit],
      });
      return rows.map(({ owner_id, active_sandboxes, quota }) => ({
        owner_id,
        active_sandboxes,
        ...(quota !== null && { quota: fromQuotaRow(JSON.parse(quota) as QuotaRow) }),
      }));
    },
    endingAfter: async (owner_id, stamp) => {
      const [row] = await work.read<{ count: number }>({ ...ENDING, values: [owner_id, stamp] });
      return row?.count ?? 0;
    },
  };
}
