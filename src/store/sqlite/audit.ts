// The audit table. Records arrive in batches and expire by age; those of unproven actors and of sandboxes also by
// number, since anyone can cause the first and every sandbox causes some of the second. Text from requests never becomes SQL.
import type { Database, Statement } from 'better-sqlite3';
import { AUDIT_COLUMNS } from '../../domain/audit.ts';
import type { AuditDraft, AuditRecord } from '../../schema/audit.ts';
import type { AuditFilter, AuditStore } from '../seam/audit.ts';
import type { Executor } from './executor.ts';
import { SWEEP_ROWS } from './methods.ts';

/** The table assigns `id`. */
const COLUMNS = AUDIT_COLUMNS.filter((column) => column !== 'id');

type Optional = 'user_id' | 'user_agent' | 'target';
type Row = Omit<AuditRecord, Optional> & Record<Optional, string | null>;

export function auditStore(db: Database, work: Executor): AuditStore {
  const insert = db.prepare(
    `INSERT INTO audit (${COLUMNS}, frequent) VALUES (${COLUMNS.map((column) => `@${column}`)}, @frequent)`,
  );
  const append = db.transaction((drafts: readonly AuditDraft[]) => {
    for (const { frequent, ...draft } of drafts)
      insert.run({ user_id: null, user_agent: null, target: null, ...draft, frequent: frequent ? 1 : 0 });
  });
  const list = listing(db);
  const purge = purging(db);
  return {
    append: (drafts) => work.grow(() => append.immediate(drafts)),
    list: (filter) => work.run(() => list(filter).map(fromRow)),
    purge: (before, { keepUnproven, keepFrequent }) =>
      work.settle(() => {
        const old = purge.old.run(before, SWEEP_ROWS).changes;
        const many = old + purge.frequent.run(keepFrequent, SWEEP_ROWS - old).changes;
        const first = many < SWEEP_ROWS ? purge.firstUnwanted.get(keepUnproven) : undefined;
        if (first === undefined) return many;
        return many + purge.unproven.run({ ...first, limit: SWEEP_ROWS - many }).changes;
      }),
  };
}

/** The partial index serves only a query that repeats its condition (migrations/0003). */
const UNPROVEN = "actor IN ('none', 'anonymous')";

function purging(db: Database) {
  return {
    old: db.prepare<[string, number]>(
      'DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE created_at < ? ORDER BY created_at, id LIMIT ?)',
    ),
    // By id, not by count: ids rise with time, and counting would read every entry of the index.
    frequent: db.prepare<[number, number]>(
      `DELETE FROM audit WHERE id IN (SELECT id FROM audit
         WHERE frequent = 1 AND id <= (SELECT max(id) FROM audit) - ? ORDER BY id LIMIT ?)`,
    ),
    firstUnwanted: db.prepare<[number], { created_at: string; id: number }>(
      `SELECT created_at, id FROM audit WHERE ${UNPROVEN} ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ?`,
    ),
    unproven: db.prepare<{ created_at: string; id: number; limit: number }>(
      `DELETE FROM audit WHERE id IN (SELECT id FROM audit
         WHERE ${UNPROVEN} AND (created_at, id) <= (@created_at, @id) ORDER BY created_at, id LIMIT @limit)`,
    ),
  };
}

/** Makes a statement for each used combination of filters: at most 256. */
function listing(db: Database): (filter: AuditFilter) => Row[] {
  const prepared = new Map<string, Statement<object, Row>>();
  return (filter) => {
    const index = filter.target === undefined ? 'audit_by_age' : 'audit_by_target';
    const sql = `SELECT id, ${COLUMNS} FROM audit INDEXED BY ${index} WHERE ${conditions(filter).join(' AND ')}
      ORDER BY created_at DESC, id DESC LIMIT @limit`;
    const statement = prepared.get(sql) ?? db.prepare<object, Row>(sql);
    prepared.set(sql, statement);
    const { after, ...plain } = filter;
    return statement.all({ ...plain, after_created_at: after?.created_at, after_id: after?.id });
  };
}

function conditions(filter: AuditFilter): string[] {
  return [
    'TRUE',
    filter.actor !== undefined && 'actor = @actor',
    filter.target !== undefined && 'target = @target',
    filter.method !== undefined && 'method = @method',
    filter.status !== undefined && 'status = @status',
    filter.path !== undefined && 'instr(path, @path) > 0',
    filter.since !== undefined && 'created_at >= @since',
    filter.until !== undefined && 'created_at < @until',
    filter.after !== undefined && '(created_at, id) < (@after_created_at, @after_id)',
  ].filter((condition) => condition !== false);
}

function fromRow({ user_id, user_agent, target, ...row }: Row): AuditRecord {
  return {
    ...row,
    ...(user_id !== null && { user_id }),
    ...(user_agent !== null && { user_agent }),
    ...(target !== null && { target }),
  };
}
