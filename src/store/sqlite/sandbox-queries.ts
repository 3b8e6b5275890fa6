// Reads of sandbox rows. State lists are literal because SQLite uses a partial index only for a query that repeats its
// condition (migrations/0001); INDEXED BY is needed because without statistics SQLite would sort every live row
// instead. Text from requests never becomes SQL.
import type { Database, Statement } from 'better-sqlite3';
import { type AdmissionLimits, type AdmissionRequest, decideAdmission } from '../../domain/admission.ts';
import { lowerAscii } from '../../domain/lower-ascii.ts';
import type { Quota } from '../../schema/quota.ts';
import { fromSandboxRow, SANDBOX_COLUMNS, type SandboxRow, toPairs } from '../rows.ts';
import type { SandboxFilter, SandboxGroup, SandboxStore, SandboxWithQuota } from '../store.ts';
import { admissionFacts, QUOTA_COLUMNS } from './admission-facts.ts';
import type { SandboxTable } from './row-cache.ts';
import type { SandboxWrites } from './sandboxes.ts';

export type SandboxQueries = Omit<SandboxStore, keyof SandboxWrites>;

const SELECT = `SELECT ${SANDBOX_COLUMNS} FROM sandboxes`;
const ACTIVE = "state IN ('creating', 'running', 'unhealthy', 'destroying')";
const LIVE = "state IN ('creating', 'running', 'unhealthy')";

export function sandboxQueries({ db, work, cache }: SandboxTable): SandboxQueries {
  const read = cache.reader(db);
  const list = listing(db);
  const inStates = db.prepare<[string, number], SandboxRow>(
    `${SELECT} WHERE state IN (SELECT value FROM json_each(?)) ORDER BY created_at, id LIMIT ?`,
  );
  const due = db.prepare<object, SandboxRow>(
    `${SELECT} INDEXED BY sandboxes_by_deadline WHERE ${LIVE} AND expires_at <= @now AND (@owner_id IS NULL OR owner_id = @owner_id)
       ORDER BY expires_at, id LIMIT @limit`,
  );
  const deadline = db
    .prepare<[], string | null>(
      `SELECT min(expires_at) FROM sandboxes INDEXED BY sandboxes_by_deadline WHERE ${LIVE}`,
    )
    .pluck();
  const counts = db.prepare<[], { provider: string; active: number }>(
    'SELECT provider, active FROM active_counts WHERE active > 0',
  );
  const census = db.prepare<[], SandboxGroup>(
    `SELECT state, provider, worker_id, count(*) AS count FROM sandboxes INDEXED BY sandboxes_active WHERE ${ACTIVE}
       GROUP BY state, provider, worker_id`,
  );
  const quotas = db.prepare<[string], Quota>(`SELECT ${QUOTA_COLUMNS} FROM owner_quotas WHERE owner_id = ?`);
  const withQuota = (id: string): SandboxWithQuota | undefined => {
    const [sandbox] = read([id]);
    const quota = sandbox?.owner_id === undefined ? undefined : quotas.get(sandbox.owner_id);
    return sandbox && { sandbox, ...(quota && { quota }) };
  };
  const facts = admissionFacts(db);
  const admission = db.transaction((request: AdmissionRequest, limits: AdmissionLimits) =>
    decideAdmission(request, limits, facts(request, limits)),
  );
  return {
    admission: (request, limits) => work.run(() => admission(request, limits)),
    get: (id) => work.run(() => read([id])[0]),
    getDurable: (id) => work.run(() => read([id])[0]),
    getWithQuota: (id) => work.run(() => withQuota(id)),
    list: (filter) => work.run(() => read(list(filter))),
    inStates: (states, limit) =>
      work.run(() => inStates.all(JSON.stringify(states), limit).map(fromSandboxRow)),
    due: (now, limit, owner_id = undefined) =>
      work.run(() => due.all({ now, limit, owner_id: owner_id ?? null }).map(fromSandboxRow)),
    nextDeadline: () => work.run(() => deadline.get() ?? undefined),
    census: () => work.run(() => census.all()),
    countActive: () => work.run(() => sum(counts.all())),
  };
}

function sum(rows: { provider: string; active: number }[]) {
  const by_provider = Object.fromEntries(rows.map(({ provider, active }) => [provider, active]));
  return { total: rows.reduce((total, { active }) => total + active, 0), by_provider };
}

/** Returns ids. Makes a statement for each used combination of filters: at most 768. */
function listing(db: Database): (filter: SandboxFilter) => string[] {
  const prepared = new Map<string, Statement<object, string>>();
  return (filter) => {
    const sql = `SELECT id FROM sandboxes ${index(filter)} WHERE ${conditions(filter).join(' AND ')}
      ORDER BY created_at DESC, id DESC LIMIT @limit`;
    const statement = prepared.get(sql) ?? db.prepare<object, string>(sql).pluck();
    prepared.set(sql, statement);
    const { after, metadata = {}, ids = [], q = '' } = filter;
    return statement.all({
      ...filter,
      ids: JSON.stringify(ids),
      q: lowerAscii(q),
      include_ended: null,
      metadata: toPairs(metadata),
      after: null,
      after_created_at: after?.created_at,
      after_id: after?.id,
    });
  };
}

/** The index with the fewest rows to skip, in the order of the list. */
function index(filter: SandboxFilter): string {
  // Each id is looked up.
  if (filter.ids !== undefined) return '';
  if (filter.owner_id !== undefined) return 'INDEXED BY sandboxes_by_owner';
  if (filter.state !== undefined) return 'INDEXED BY sandboxes_by_state';
  return `INDEXED BY ${filter.include_ended ? 'sandboxes_by_age' : 'sandboxes_active'}`;
}

function conditions(filter: SandboxFilter): string[] {
  return [
    filter.state === undefined ? (filter.include_ended ? 'TRUE' : ACTIVE) : 'state = @state',
    filter.owner_id !== undefined && 'owner_id = @owner_id',
    filter.provider !== undefined && 'provider = @provider',
    filter.worker_id !== undefined && 'worker_id = @worker_id',
    filter.template !== undefined && 'template = @template',
    filter.ids !== undefined && 'id IN (SELECT value FROM json_each(@ids))',
    filter.q !== undefined &&
      '(instr(lower(id), @q) OR instr(lower(owner_id), @q) OR instr(lower(template), @q))',
    filter.after !== undefined && '(created_at, id) < (@after_created_at, @after_id)',
    filter.metadata !== undefined &&
      'NOT EXISTS (SELECT value FROM json_each(@metadata) EXCEPT SELECT value FROM json_each(sandboxes.metadata))',
  ].filter((condition) => condition !== false);
}
