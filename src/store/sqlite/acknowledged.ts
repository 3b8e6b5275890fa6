// Records the position of the last acknowledged write outside the write-ahead log, because a truncated or missing log
// does not show what it lost. The file exists while the database is open, and after an unclean shutdown. It is not
// synced: it outlives the process, and after a power failure it may be behind, but never ahead of what `full` has
// synced.
import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import type { DatabaseLoss } from '../../schema/db-report.ts';
import { type LogIndex, type LogPosition, openLogIndex } from './log-index.ts';

const RECORD_BYTES = 40;

export const acknowledgedFile = (path: string) => `${path}.acknowledged`;

export class Acknowledged {
  readonly #path: string;
  #index: LogIndex | undefined;
  #file: number | undefined;
  #last = '';

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Returns how the log was found if it lacks what the last server acknowledged. Must run after SQLite's first read of
   * the database, which recovers the log, and before any write. An empty file is a new database and misses nothing.
   */
  missing(): DatabaseLoss['log'] | undefined {
    const before = readAcknowledged(this.#path);
    if (!before || statSync(this.#path).size === 0) return undefined;
    this.#index = indexOf(this.#path);
    return missingIn(this.#index?.read() ?? NO_LOG, before);
  }

  /**
   * Starts with the current position, in WAL mode. Without a file (a full disk) nothing is recorded or missed later.
   */
  begin(): void {
    this.#index ??= indexOf(this.#path);
    try {
      this.#file = openSync(acknowledgedFile(this.#path), 'w', 0o600);
    } catch {
      removeQuietly(this.#path);
    }
    this.note();
  }

  /**
   * Runs after each durable commit, before it is acknowledged, on the committing thread. Takes a few µs; never throws.
   */
  note(): void {
    if (!this.#index || this.#file === undefined) return;
    try {
      const { salt, frame, folded } = this.#index.read();
      const record = `${salt} ${frame} ${folded}`.padEnd(RECORD_BYTES);
      if (record !== this.#last) writeSync(this.#file, record, 0);
      this.#last = record;
    } catch {
      // The older record stays and promises less.
    }
  }

  /** Removes the promise: the first step of an orderly close. Idempotent, never throws. */
  withdraw(): void {
    if (this.#file !== undefined) removeQuietly(this.#path);
  }

  /** Runs after SQLite has closed the database. Idempotent. */
  close(): void {
    this.#index?.close();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#index = this.#file = undefined;
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(acknowledgedFile(path), { force: true });
  } catch {
    // The folder is no longer writable: the next start may miss a log that was checkpointed.
  }
}

const NO_LOG: LogPosition = { salt: 0, frame: 0, folded: 0 };

/** Undefined if the database is not in WAL mode. */
function indexOf(path: string): LogIndex | undefined {
  try {
    return openLogIndex(path);
  } catch {
    return undefined;
  }
}

/** The last server's promise; undefined after an orderly stop, or if it cannot be read. */
export function readAcknowledged(path: string): LogPosition | undefined {
  try {
    const numbers = readFileSync(acknowledgedFile(path), 'latin1').trim().split(' ').map(Number);
    const [salt, frame, folded] = numbers;
    if (numbers.length !== 3 || !numbers.every(Number.isSafeInteger)) return undefined;
    return { salt: salt!, frame: frame!, folded: folded! };
  } catch {
    return undefined;
  }
}

/** Returns what the found log lacks of `before`; undefined if everything is in the log or in the database file. */
export function missingIn(found: LogPosition, before: LogPosition): DatabaseLoss['log'] | undefined {
  if (found.frame > 0 && found.salt === before.salt) return found.frame < before.frame ? 'cut' : undefined;
  // A log restarts only when the one before is completely in the database file.
  if (found.frame > 0 && isLater(found.salt, before.salt)) return undefined;
  if (before.frame <= before.folded) return undefined;
  return found.frame > 0 ? 'foreign' : 'missing';
}

/** Salts count up. A log that was checkpointed and removed is followed by one with any salt. */
const MOST_BEGINNINGS = 1_000_000;
const isLater = (salt: number, before: number) => ((salt - before) >>> 0) - 1 < MOST_BEGINNINGS;
