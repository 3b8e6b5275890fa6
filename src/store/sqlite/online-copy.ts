// Copies a database while others write to it. The copy's connection holds a read transaction: in WAL mode that does not
// block writers and fixes one state of all pages, so that the copy can run in steps. Without it each write of another
// process would restart a stepped copy.
import type { Database } from 'better-sqlite3';
import { storeFailure } from './failures.ts';
import { openReader } from './reader.ts';
import Sqlite from './sqlite.ts';

/** 4 MiB of the usual pages: a few ms between two looks at the signal. */
const PAGES_A_STEP = 1000;

export interface CopyOptions {
  signal?: AbortSignal | undefined;
  /** Copied bytes and total bytes. */
  onBytes?: ((done: number, total: number) => void) | undefined;
}

/**
 * Copies the state of the database at `from` into the empty file `to`, which has no log afterwards. The source is not
 * changed. Throws the signal's reason, otherwise like the store; `to` is then unusable.
 */
export async function copyOnline(from: string, to: string, options: CopyOptions = {}): Promise<void> {
  const source = openReader(from);
  try {
    source.exec('BEGIN');
    const pageBytes = source.pragma('page_size', { simple: true }) as number;
    // The transaction begins with its first read.
    source.prepare('SELECT count(*) FROM sqlite_schema').get();
    await source.backup(to, { progress: (progress) => step(progress, pageBytes, options) });
    options.signal?.throwIfAborted();
  } catch (error) {
    throw options.signal?.aborted ? options.signal.reason : storeFailure(error);
  } finally {
    source.close();
  }
  settleCopy(to);
}

function step({ totalPages, remainingPages }: Progress, pageBytes: number, options: CopyOptions): number {
  options.signal?.throwIfAborted();
  options.onBytes?.((totalPages - remainingPages) * pageBytes, totalPages * pageBytes);
  return PAGES_A_STEP;
}

type Progress = Parameters<NonNullable<NonNullable<Parameters<Database['backup']>[1]>['progress']>>[0];

/** A copied header says WAL, but a standalone file must not need a log. */
export function settleCopy(path: string): void {
  const db = new Sqlite(path, { fileMustExist: true, timeout: 0 });
  try {
    db.pragma('trusted_schema = OFF');
    db.pragma('journal_mode = DELETE');
  } catch (error) {
    throw storeFailure(error);
  } finally {
    db.close();
  }
}
