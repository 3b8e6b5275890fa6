// The audit table. Records arrive in batches and expire by age; those of unproven actors also by number, since anyone
// can cause them. Text from requests never becomes SQL.
import type { Database, Statement } from 'better-sqlite3';
import { AUDIT_COLUMNS } from '../../domain/audit.ts';
import type { AuditDraft, AuditRecord } from '../../schema/audit.ts';
import type { AuditFilter, AuditStore } from '../seam/audit.ts';
import type { Executor } from './executor.ts';
import { SWEEP_ROWS } from './methods.ts';

/** The table assigns `id`. */
const COLUMNS = AUDIT_COLUMNS.filter((column) => column !== 'id');

type Row = Omit<AuditRecord, 'user_id' | 'user_agent'> & {
  user_id: string | null;
  user_agent: string | null;
};

export function auditStore(db: Database, work: Executor): AuditStore {
  const insert = db.prepare(
    `INSERT INTO audit (${COLUMNS}) VALUES (${COLUMNS.map((column) => `@${column}`)})`,
  );
  const append = db.transaction((drafts: readonly AuditDraft[]) => {
    for (const draft of drafts) insert.run({ user_id: null, user_agent: null, ...draft });
  });
  const list = listing(db);
  const purge = purging(db);
  return {
    append: (drafts) => work.grow(() => append.immediate(drafts)),
    list: (filter) => work.run(() => list(filter).map(fromRow)),
    purge: (before, keepUnproven) =>
      work.settle(() => {
        const old = purge.old.run(before, SWEEP_ROWS).changes;
        const first = old < SWEEP_ROWS ? purge.firstUnwanted.get(keepUnproven) : undefined;
        if (first === undefined) return old;
        return old + purge.unproven.run({ ...first, limit: SWEEP_ROWS - old }).changes;
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
    firstUnwanted: db.prepare<[number], { created_at: string; id: number }>(
      `SELECT created_at, id FROM audit WHERE ${UNPROVEN} ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ?`,
    ),
    unproven: db.prepare<{ created_at: string; id: number; limit: number }>(
      `DELETE FROM audit WHERE id IN (SELECT id FROM audit
         WHERE ${UNPROVEN} AND (created_at, id) <= (@created_at, @id) ORDER BY created_at, id LIMIT @limit)`,
    ),
  };
}

/** Makes a statement for each used combination of filters: at most 128. */
function listing(db: Database): (filter: AuditFilter) => Row[] {
  const prepared = new Map<string, Statement<object, Row>>();
  return (filter) => {
    const sql = `SELECT id, ${COLUMNS} FROM audit INDEXED BY audit_by_age WHERE ${conditions(filter).join(' AND ')}
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
    filter.method !== undefined && 'method = @method',
    filter.status !== undefined && 'status = @status',
    filter.path !== undefined && 'instr(path, @path) > 0',
    filter.since !== undefined && 'created_at >= @since',
    filter.until !== undefined && 'created_at < @until',
    filter.after !== undefined && '(created_at, id) < (@after_created_at, @after_id)',
  ].filter((condition) => condition !== false);
}

function fromRow({ user_id, user_agent, ...row }: Row): AuditRecord {
  return { ...row, ...(user_id !== null && { user_id }), ...(user_agent !== null && { user_agent }) };
}
