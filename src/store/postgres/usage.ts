// The ledger of use in PostgreSQL.
import { AMOUNTS, type UsageChange, type UsageFilter, type UsageStore } from '../seam/usage.ts';
import {
  fromStoredUsage,
  fromStoredUsageRow,
  type StoredUsage,
  type StoredUsageRow,
  startingHours,
  toStoredChange,
  USAGE_COLUMNS,
} from '../usage-rows.ts';
import type { Statement } from './connection.ts';
import { deleting, sweep } from './sweeps.ts';
import { encodeJson, encodeText } from './text.ts';
import type { Work } from './work.ts';

const SELECT = `SELECT ${USAGE_COLUMNS} FROM usage_sandboxes`;
const OPEN: Statement = {
  name: 'usage-open',
  text: `${SELECT} WHERE settled = 0 AND sandbox_id > $1 ORDER BY sandbox_id LIMIT $2`,
};
const OF: Statement = {
  name: 'usage-of',
  text: `${SELECT} WHERE sandbox_id IN (SELECT jsonb_array_elements_text($1::jsonb)) LIMIT 1000`,
};
const OF_OWNER: Statement = {
  name: 'usage-of-owner',
  text: `${SELECT} WHERE owner_id = $1 AND started_at < $2 AND (ended_at IS NULL OR ended_at >= $3)
      AND ($4::text IS NULL OR (started_at, sandbox_id) < ($4::text COLLATE "C", $5::text COLLATE "C"))
    ORDER BY started_at DESC, sandbox_id DESC LIMIT $6`,
};
const SETTLE: Statement = {
  name: 'usage-settle',
  text: 'SELECT sandbox_id FROM svc_settle_usage_30($1::jsonb) AS sandbox_id',
};
const COMPLETE_UNTIL: Statement = { name: 'usage-until', text: 'SELECT complete_until FROM usage_state' };
const COMPLETE: Statement = {
  name: 'usage-complete',
  text: `INSERT INTO usage_state (one, complete_until) VALUES (1, $1)
    ON CONFLICT (one) DO UPDATE SET complete_until = greatest(usage_state.complete_until, excluded.complete_until)`,
};
const DAYS = deleting(
  'usage-days',
  'usage_hours',
  '(owner_id, hour, provider, template)',
  'WHERE hour < $1 LIMIT $2',
);
const SANDBOXES = deleting(
  'usage-sandboxes',
  'usage_sandboxes',
  'sandbox_id',
  'WHERE settled = 1 AND ended_at < $1 LIMIT $2',
);
const JOIN: Statement = { name: 'usage-join', text: 'SELECT svc_join_usage_30($1, $2) AS deleted' };

export function usageStore(work: Work): UsageStore {
  return {
    open: async (limit, after = '') =>
      (await work.read<StoredUsage>({ ...OPEN, values: [after, limit] })).map(fromStoredUsage),
    of: async (ids) =>
      (await work.read<StoredUsage>({ ...OF, values: [encodeJson(ids)] })).map(fromStoredUsage),
    settle: async (changes) => {
      if (changes.length === 0) return [];
      const rows = await work.write<{ sandbox_id: string }>({
        ...SETTLE,
        values: [encodeJson(stored(changes))],
      });
      return rows.map(({ sandbox_id }) => sandbox_id);
    },
    rows: async (filter) => (await work.read<StoredUsageRow>(rowsQuery(filter))).map(fromStoredUsageRow),
    sandboxes: async ({ owner_id, from, to, limit, after }) => {
      const values = [encodeText(owner_id), to, from, after?.started_at ?? null, after?.id ?? null, limit];
      return (await work.read<StoredUsage>({ ...OF_OWNER, values })).map(fromStoredUsage);
    },
    completeUntil: async () =>
      (await work.read<{ complete_until: string }>(COMPLETE_UNTIL))[0]?.complete_until,
    complete: async (until) => void (await work.write({ ...COMPLETE, values: [until] })),
    purge: async ({ hours, days, sandboxes }) =>
      (await sweep(work, DAYS, [days])) +
      (await sweep(work, SANDBOXES, [sandboxes])) +
      (await sweep(work, JOIN, [hours])),
  };
}

const stored = (changes: readonly UsageChange[]) =>
  changes.map((change) => ({ ...toStoredChange(change), hours: startingHours(change) }));

/** The query has 16 forms at most, which the filter's own words choose. */
function rowsQuery({ owner_id, from, to, step, by, limit }: UsageFilter): Statement {
  const fields = (['owner_id', 'provider', 'template'] as const).map((name) =>
    by.includes(name) ? name : `''::text AS ${name}`,
  );
  const size = Math.max(1, step);
  const hour = step === 0 ? 'min(hour)' : `(hour / ${size}) * ${size}`;
  const group = [...(step === 0 ? [] : [`hour / ${size}`]), ...by].join(', ');
  const sums = ['sandboxes', ...AMOUNTS].map((name) => `sum(${name})::bigint AS ${name}`);
  const ofOwner = owner_id === undefined ? '$4::text IS NULL' : 'owner_id = $4';
  return {
    name: `usage-rows-${step}-${by.join('-')}-${owner_id === undefined ? 'all' : 'one'}`,
    text: `SELECT ${fields.join(', ')}, ${hour} AS hour, ${sums.join(', ')} FROM usage_hours
      WHERE hour >= $1 AND hour < $2 AND ${ofOwner}
      ${group === '' ? 'HAVING count(*) > 0' : `GROUP BY ${group}`} ORDER BY 4, 1, 2, 3 LIMIT $3`,
    values: [from, to, limit, owner_id === undefined ? null : encodeText(owner_id)],
  };
}
