// What `svc db copy` moves between a database file and PostgreSQL, and the hash by which both are compared. Columns are those
// of the file's schema, so that a new column is copied without a line here.
import { createHash } from 'node:crypto';
import type { CopiedTable } from '../schema/db-report.ts';

/** In the order in which they are copied. */
export const COPIED_TABLES = [
  'instance',
  // Before the sandboxes: a trigger adds the rows that are missing.
  'usage_sandboxes',
  'usage_hours',
  'usage_state',
  'sandboxes',
  'warm_sandboxes',
  'pool_vms',
  'pool_uids',
  'owner_quotas',
  'templates',
  'keys',
  'key_changes',
  'sessions',
  'secrets',
  'workers',
  'leases',
  'idempotency',
  'execs',
  'events',
  'event_gaps',
  'audit',
] as const;

/** Tables that only look alike, or that no other machine can use, with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  active_counts: 'triggers count the copied rows',
  event_ids: 'the counter is raised by itself',
  clock_mark: 'it describes the clock of one machine',
};

/** NULL is null; texts as the store gives them. */
export type CopiedValue = string | number | null;
export type CopiedRow = readonly CopiedValue[];

export interface CopiedColumn {
  name: string;
  type: 'text' | 'integer' | 'real';
}

export interface TablePlan {
  name: string;
  columns: readonly CopiedColumn[];
  /** The columns of the primary key, otherwise all: rows are read in this order. */
  order: readonly string[];
}

/** The counters that must never repeat a number. */
export interface CopiedCounters {
  /** The highest id that an event may have. */
  events: number;
  /** The highest id that an audit record had. */
  audit: number;
}

/** The original, or the copy that is compared with it. */
export interface RowSource {
  /** Rows in batches, in the order of the plan. */
  read(table: TablePlan, signal?: AbortSignal): AsyncIterable<CopiedRow[]>;
}

/** Counts and hashes rows: the same rows in the same order have the same result. */
export class RowDigest {
  readonly #hash = createHash('sha256');
  rows = 0;

  add(batch: readonly CopiedRow[]): void {
    this.rows += batch.length;
    this.#hash.update(batch.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }

  /** Once. */
  result(name: string): CopiedTable {
    return { name, rows: this.rows, sha256: this.#hash.digest('hex') };
  }
}

/** The digest of a table as it is stored. `onRows` is called with the number of each batch. */
export async function digestOf(
  source: RowSource,
  table: TablePlan,
  { signal, onRows }: { signal?: AbortSignal | undefined; onRows(rows: number): void },
): Promise<CopiedTable> {
  const digest = new RowDigest();
  for await (const batch of source.read(table, signal)) {
    digest.add(batch);
    onRows(batch.length);
  }
  return digest.result(table.name);
}
