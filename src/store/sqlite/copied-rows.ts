// Tables of a database file for `svc db copy`: read from one that nobody writes to, and written into a new one.
import { setImmediate as immediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import {
  COPIED_TABLES,
  type CopiedCounters,
  type CopiedRow,
  type RowSource,
  type TablePlan,
} from '../copied-tables.ts';
import { storeFailure } from './failures.ts';
import { migrate } from './migrate.ts';
import Sqlite from './sqlite.ts';

/** A few ms between two looks at everything else. */
const BATCH = 500;

/** The plan of this program's schema version. */
export function tablePlans(): TablePlan[] {
  const model = new Sqlite(':memory:');
  try {
    migrate(model);
    return COPIED_TABLES.map((name) => planOf(model, name));
  } finally {
    model.close();
  }
}

const TYPES: Record<string, 'text' | 'integer' | 'real'> = { TEXT: 'text', INTEGER: 'integer', REAL: 'real' };

function planOf(db: Database, name: string): TablePlan {
  const columns = db.pragma(`table_info(${name})`) as { name: string; type: string; pk: number }[];
  const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  return {
    name,
    columns: columns.map((column) => ({ name: column.name, type: TYPES[column.type] ?? 'text' })),
    order: (key.length > 0 ? key : columns).map((column) => column.name),
  };
}

/** Reads with `db`, which must do nothing else meanwhile. */
export function fileRows(db: Database): RowSource {
  return {
    read: async function* (table, signal) {
      const names = table.columns.map((column) => column.name);
      const rows = db
        .prepare<[], CopiedRow>(
          `SELECT ${names.join(', ')} FROM ${table.name} ORDER BY ${table.order.join(', ')}`,
        )
        .raw()
        .iterate();
      let batch: CopiedRow[] = [];
      for (const row of rows) {
        batch.push(row);
        if (batch.length < BATCH) continue;
        yield batch;
        batch = [];
        await immediate();
        signal?.throwIfAborted();
      }
      if (batch.length > 0) yield batch;
    },
  };
}

export function fileCounters(db: Database): CopiedCounters {
  const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  return {
    events: number('SELECT reserved_through FROM event_ids'),
    audit: number("SELECT seq FROM sqlite_sequence WHERE name = 'audit'"),
  };
}

/** Sandboxes and prewarmed ones that need this host, and VMs of its pool. */
export function rowsOfThisHost(
  db: Database,
  kinds: readonly string[],
  most: number,
): { count: number; ids: string[] } {
  const list = kinds.map((kind) => `'${kind}'`).join(', ');
  const ids = db
    .prepare<[], string>(
      `SELECT id FROM sandboxes WHERE worker_id = 'local' AND provider IN (${list}) AND state NOT IN ('destroyed', 'error')
       UNION ALL SELECT id FROM warm_sandboxes WHERE worker_id = 'local' AND provider IN (${list})
       UNION ALL SELECT id FROM pool_vms`,
    )
    .pluck()
    .all();
  return { count: ids.length, ids: ids.slice(0, most) };
}

/** The batches of one table. */
export interface TableRows {
  table: TablePlan;
  rows: AsyncIterable<CopiedRow[]>;
}

/**
 * Fills the empty file at `path`, which nobody has open, with the tables of this program's version and these rows. A
 * failure leaves a file that must not be used.
 */
export async function fillFile(
  path: string,
  tables: readonly TableRows[],
  counters: CopiedCounters,
): Promise<void> {
  const db = new Sqlite(path, { fileMustExist: true, timeout: 0 });
  try {
    migrate(db);
    // Not WAL: the file is complete by itself, and it is flushed before it gets its name.
    db.pragma('synchronous = OFF');
    db.exec('BEGIN IMMEDIATE');
    for (const { table, rows } of tables) await insert(db, table, rows);
    db.prepare('UPDATE event_ids SET reserved_through = max(reserved_through, ?)').run(counters.events);
    db.exec(
      "INSERT INTO sqlite_sequence (name, seq) SELECT 'audit', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'audit')",
    );
    db.prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'audit'").run(counters.audit);
    db.exec('COMMIT');
  } catch (error) {
    throw storeFailure(error);
  } finally {
    db.close();
  }
}

async function insert(
  db: Database,
  { name, columns }: TablePlan,
  rows: AsyncIterable<CopiedRow[]>,
): Promise<void> {
  // Migrations insert the single rows of counters.
  db.exec(`DELETE FROM ${name}`);
  const names = columns.map((column) => column.name);
  const marks = columns.map(() => '?');
  const statement = db.prepare(`INSERT INTO ${name} (${names.join(', ')}) VALUES (${marks.join(', ')})`);
  for await (const batch of rows) for (const row of batch) statement.run(...row);
}
