// Keeps rows of the sandboxes table in memory on the thread that reads, and knows every write that may change one. Only
// this process writes the database (lock.ts). A row is dropped before its change is acknowledged.
import type { Database } from 'better-sqlite3';
import { fromSandboxRow, SANDBOX_COLUMNS, type SandboxRow } from '../rows.ts';
import type { ClockStore } from '../seam/clock.ts';
import type { SandboxRecord } from '../store.ts';
import type { Executor } from './executor.ts';
import type { SandboxWrites } from './sandboxes.ts';

/** The connection to the sandboxes table and the rows of it in memory. */
export interface SandboxTable {
  db: Database;
  work: Executor;
  cache: RowCache;
}

type Method = (...args: never[]) => Promise<unknown>;
type ChangedBy<Writes> = {
  [M in keyof Writes]: (...args: Parameters<Extract<Writes[M], Method>>) => string | typeof ALL;
};

const ALL = Symbol('every row');
/** The id of a row that cannot be in the cache yet. */
const NEW = '';

/** The row that each write may change. The types demand an entry for every write on the table. */
const CHANGES: { sandboxes: ChangedBy<SandboxWrites>; clock: ChangedBy<Pick<ClockStore, 'set'>> } = {
  sandboxes: {
    reserve: () => NEW,
    transition: ({ id }) => id,
    extend: (id) => id,
    purgeEnded: () => ALL,
  },
  clock: { set: () => ALL },
};

/** Four of the longest pages. */
const MAX_ROWS = 4000;
/** Characters of the columns without a bound of their own. A longer row is read each time. */
const MAX_LENGTH = 2000;

export class RowCache {
  readonly #rows = new Map<string, SandboxRecord>();

  /** Reads rows in the order of their ids and leaves out missing ones. Rows are frozen; the same row is the same object. */
  reader(db: Database): (ids: readonly string[]) => SandboxRecord[] {
    const read = db.prepare<[string], SandboxRow>(
      `SELECT ${SANDBOX_COLUMNS} FROM sandboxes WHERE id IN (SELECT value FROM json_each(?))`,
    );
    return (ids) => {
      const rows = ids.map((id) => this.#rows.get(id));
      const missing = ids.filter((_, at) => rows[at] === undefined);
      if (missing.length === 0) return rows as SandboxRecord[];
      const fresh = new Map(read.all(JSON.stringify(missing)).map((row) => [row.id, this.#add(row)]));
      return rows.flatMap((row, at) => row ?? fresh.get(ids[at] ?? '') ?? []);
    };
  }

  /** Returns `call` so that it drops the rows it may have changed, also when it fails: it may have been written. */
  invalidating<Call extends (...args: never[]) => Promise<unknown>>(
    part: string,
    method: string,
    call: Call,
  ): Call {
    const changes = CHANGES as unknown as Record<string, Record<string, (...args: unknown[]) => unknown>>;
    const changed = changes[part]?.[method];
    if (!changed) return call;
    const invalidating = (...args: never[]) => call(...args).finally(() => this.#drop(changed(...args)));
    return invalidating as Call;
  }

  #add(row: SandboxRow): SandboxRecord {
    const record = fromSandboxRow(row);
    const length = row.image.length + row.metadata.length + row.env.length + row.warnings.length;
    if (length > MAX_LENGTH) return record;
    const [oldest] = this.#rows.size < MAX_ROWS ? [] : this.#rows.keys();
    if (oldest !== undefined) this.#rows.delete(oldest);
    Object.freeze(record.metadata);
    Object.freeze(record.env);
    this.#rows.set(record.id, Object.freeze(record));
    return record;
  }

  #drop(changed: unknown): void {
    if (changed === ALL) this.#rows.clear();
    else this.#rows.delete(changed as string);
  }
}
