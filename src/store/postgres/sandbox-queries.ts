// Reads of sandbox rows in PostgreSQL. Conditions repeat those of the partial indexes. Text from requests never becomes SQL.

import { lowerAscii } from '../../domain/lower-ascii.ts';
import type { Quota } from '../../schema/quota.ts';
import { fromSandboxRow, SANDBOX_COLUMNS, type SandboxRow, toPairs } from '../rows.ts';
import type { SandboxFilter, SandboxGroup, SandboxRecord, SandboxStore } from '../store.ts';
import { selected } from './conditions.ts';
import type { Statement } from './connection.ts';
import { LIVE, QUOTA_COLUMNS } from './quotas.ts';
import type { Work } from './work.ts';

export const COLUMNS = SANDBOX_COLUMNS.join(', ');
const SELECT = `SELECT ${COLUMNS} FROM sandboxes`;
/** Rows with a deadline that somebody waits for. */
const DUE = "state IN ('creating', 'running', 'unhealthy')";

const GET: Statement = { name: 'sandbox', text: `${SELECT} WHERE id = $1` };
const GET_WITH_QUOTA: Statement = {
  name: 'sandbox-quota',
  text: `SELECT ${COLUMNS}, (SELECT to_json(q)::text FROM
      (SELECT ${QUOTA_COLUMNS} FROM owner_quotas WHERE owner_id = sandboxes.owner_id) AS q) AS quota
    FROM sandboxes WHERE id = $1`,
};
const IN_STATES: Statement = {
  name: 'sandboxes-in-states',
  text: `${SELECT} WHERE state = ANY($1::text[]) ORDER BY created_at, id LIMIT $2`,
};
const DUE_NOW: Statement = {
  name: 'sandboxes-due',
  text: `${SELECT} WHERE ${DUE} AND expires_at <= $1 AND ($3::text IS NULL OR owner_id = $3)
    ORDER BY expires_at, id LIMIT $2`,
};
const DEADLINE: Statement = {
  name: 'sandboxes-deadline',
  text: `SELECT min(expires_at) AS deadline FROM sandboxes WHERE ${DUE}`,
};
const COUNTS: Statement = {
  name: 'sandboxes-counts',
  text: 'SELECT provider, sum(active) AS active FROM active_counts GROUP BY provider HAVING sum(active) > 0',
};
const CENSUS: Statement = {
  name: 'sandboxes-census',
  text: `SELECT state, provider, worker_id, count(*) AS count FROM sandboxes WHERE ${LIVE}
    GROUP BY state, provider, worker_id`,
};

type Writes = 'reserve' | 'admission' | 'transition' | 'extend' | 'purgeEnded';
export type SandboxQueries = Omit<SandboxStore, Writes>;

export function sandboxQueries(work: Work): SandboxQueries {
  const rows = async (statement: Statement): Promise<SandboxRecord[]> =>
    (await work.read<SandboxRow>(statement)).map(fromSandboxRow);
  return {
    get: async (id) => (await rows({ ...GET, values: [id] }))[0],
    getDurable: async (id) =>
      (await work.durable<SandboxRow & Record<string, unknown>>({ ...GET, values: [id] })).map(
        fromSandboxRow,
      )[0],
    getWithQuota: async (id) => {
      const [row] = await work.read<SandboxRow & { quota: string | null }>({
        ...GET_WITH_QUOTA,
        values: [id],
      });
      if (!row) return undefined;
      const quota = row.quota === null ? {} : { quota: JSON.parse(row.quota) as Quota };
      return { sandbox: fromSandboxRow(row), ...quota };
    },
    list: (filter) => rows(listing(filter)),
    inStates: (states, limit) => rows({ ...IN_STATES, values: [states, limit] }),
    due: (now, limit, owner_id) => rows({ ...DUE_NOW, values: [now, limit, owner_id ?? null] }),
    nextDeadline: async () =>
      (await work.read<{ deadline: string | null }>(DEADLINE))[0]?.deadline ?? undefined,
    census: () => work.read<SandboxGroup & Record<string, unknown>>(CENSUS),
    countActive: async () => {
      const counts = await work.read<{ provider: string; active: number }>(COUNTS);
      const by_provider = Object.fromEntries(counts.map(({ provider, active }) => [provider, active]));
      return { total: counts.reduce((total, { active }) => total + active, 0), by_provider };
    },
  };
}

/** Pairs are compared as the JSON text in which they are stored. */
const HAS_METADATA = `NOT EXISTS (SELECT wanted::text FROM json_array_elements(?::json) AS wanted
  EXCEPT SELECT present::text FROM json_array_elements(metadata::json) AS present)`;

const HAS_TEXT = `(${['id', 'owner_id', 'template']
  .map((name) => `strpos(lower(${name} COLLATE "C"), ?) > 0`)
  .join(' OR ')})`;

/** A statement for each used combination of filters: at most 768. */
function listing(filter: SandboxFilter): Statement {
  const { state, include_ended, metadata, after, ids, q } = filter;
  const text = q === undefined ? undefined : lowerAscii(q);
  const states = state === undefined ? (include_ended ? 'TRUE' : LIVE) : 'state = ?';
  const { where, values, shape } = selected([
    [states, state === undefined ? [] : [state]],
    ['owner_id = ?', [filter.owner_id]],
    ['provider = ?', [filter.provider]],
    ['worker_id = ?', [filter.worker_id]],
    ['template = ?', [filter.template]],
    [HAS_METADATA, [metadata && toPairs(metadata)]],
    ['id = ANY(?::text[])', [ids && [...ids]]],
    [HAS_TEXT, [text, text, text]],
    ['(created_at, id) < (?, ?)', [after?.created_at, after?.id]],
  ]);
  const kind = state === undefined ? (include_ended ? 'all' : 'live') : 'state';
  return {
    name: `sandboxes-list-${kind}-${shape}`,
    text: `${SELECT} WHERE ${where} ORDER BY created_at DESC, id DESC LIMIT $${values.length + 1}`,
    values: [...values, filter.limit],
  };
}
