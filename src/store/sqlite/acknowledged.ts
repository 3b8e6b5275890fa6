// How far the log had come at the last acknowledged write, kept outside of the log: a log that is cut or gone is a shorter
// one, and says nothing of it by itself. The file is there while the database is open, and after an unclean stop. It is
// not synced: it outlives the process, and after a power cut it may be behind, never ahead of what `full` has synced.
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

  /** For the database at `path`. */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * How the log was found when it does not hold what the last server acknowledged. After SQLite's first read of the
   * database, which recovers the log, and before anything is written. An empty file is a new database and misses nothing.
   */
  missing(): DatabaseLoss['log'] | undefined {
    const before = readAcknowledged(this.#path);
    if (!before || statSync(this.#path).size === 0) return undefined;
    this.#index = indexOf(this.#path);
    return missingIn(this.#index?.read() ?? NO_LOG, before);
  }

  /** Begins with where the log is now, in WAL mode. Without a file (a full disk) nothing is kept, or missed later. */
  begin(): void {
    this.#index ??= indexOf(this.#path);
    try {
      this.#file = openSync(acknowledgedFile(this.#path), 'w', 0o600);
    } catch {
      removeQuietly(this.#path);
    }
    this.note();
  }

  /** After each durable commit, before it is acknowledged, in the thread that commits. A few µs; never throws. */
  note(): void {
    if (!this.#index || this.#file === undefined) return;
    try {
      const { salt, frame, folded } = this.#index.read();
      const record = `${salt} ${frame} ${folded}`.padEnd(RECORD_BYTES);
      if (record !== this.#last) writeSync(this.#file, record, 0);
      this.#last = record;
    } catch {
      // What stands there is older, and promises less.
    }
  }

  /** Nothing is promised any more: the first step of an orderly close. Idempotent, never throws. */
  withdraw(): void {
    if (this.#file !== undefined) removeQuietly(this.#path);
  }

  /** After SQLite has closed the database. Idempotent. */
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
    // A folder that may not be written to any more: the next start may miss a log that was folded in.
  }
}

const NO_LOG: LogPosition = { salt: 0, frame: 0, folded: 0 };

/** Undefined where the database is in no WAL mode. */
function indexOf(path: string): LogIndex | undefined {
  try {
    return openLogIndex(path);
  } catch {
    return undefined;
  }
}

/** What the last server promised; undefined after an orderly stop, or when it cannot be read. */
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

/** What is missing of `before` in the log as it was found; undefined when all of it is there, or in the database file. */
export function missingIn(found: LogPosition, before: LogPosition): DatabaseLoss['log'] | undefined {
  if (found.frame > 0 && found.salt === before.salt) return found.frame < before.frame ? 'cut' : undefined;
  // A log begins from its start again only when all of the one before is in the database file.
  if (found.frame > 0 && isLater(found.salt, before.salt)) return undefined;
  if (before.frame <= before.folded) return undefined;
  return found.frame > 0 ? 'foreign' : 'missing';
}

/** Salts count up, and a log that was folded and removed is followed by one with any salt. */
const MOST_BEGINNINGS = 1_000_000;
const isLater = (salt: number, before: number) => ((salt - before) >>> 0) - 1 < MOST_BEGINNINGS;
