// Rows of sandboxes that were read before and have not changed since: reading one again asks nobody. This process alone
// writes them (lock.ts); a row is forgotten before its change is acknowledged (faces.ts).
import type { Database } from 'better-sqlite3';
import type { SandboxRecord } from '../store.ts';
import type { Executor } from './executor.ts';

/** Where sandboxes are kept, and what of it is in memory. */
export interface SandboxTable {
  db: Database;
  work: Executor;
  known: RowCache;
}

/** Four of the longest pages. */
const MOST_ROWS = 4000;
/** Characters of a row's text; a longer one is read each time. */
const LONGEST = 2000;

export class RowCache {
  readonly #rows = new Map<string, SandboxRecord>();

  /** Frozen, and the same one until it is forgotten: what others make of it can be kept by it. */
  get(id: string): SandboxRecord | undefined {
    return this.#rows.get(id);
  }

  /** The row as it was just read, `length` characters long: it is frozen where it is. */
  add(row: SandboxRecord, length: number): void {
    if (length > LONGEST) return;
    const [oldest] = this.#rows.size < MOST_ROWS ? [] : this.#rows.keys();
    if (oldest !== undefined) this.#rows.delete(oldest);
    this.#rows.set(row.id, frozen(row));
  }

  forget(id: string): void {
    this.#rows.delete(id);
  }

  forgetAll(): void {
    this.#rows.clear();
  }
}

function frozen(row: SandboxRecord): SandboxRecord {
  Object.freeze(row.metadata);
  Object.freeze(row.env);
  return Object.freeze(row);
}
