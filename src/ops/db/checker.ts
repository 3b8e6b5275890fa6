// Checks database files with the long check, of every page and index, in a process of its own: nothing interrupts SQLite
// from within, but a process can be ended, so Ctrl-C does not wait; and the caller hashes meanwhile. The process is made
// ready while the file is still being copied.
import { createRequire } from 'node:module';
import { PassThrough } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { run } from '../../host/run.ts';
import type { VerifyReport } from '../../schema/db-report.ts';
import { MOST_NAMED, verifyDatabase } from '../../store/sqlite/check.ts';

/** A smaller file is checked in less time than a process starts. */
const APART_BYTES = 16 * 1024 * 1024;
/** Far beyond any database that fits a host. */
const DEADLINE_MS = 24 * 3_600_000;

const CHECK = `
  const Sqlite = require(process.argv[1]);
  new Sqlite(':memory:').close();
  const path = require('node:fs').readFileSync(0, 'utf8');
  if (path === '') process.exit(1);
  const db = new Sqlite(path, { readonly: true, fileMustExist: true });
  for (const guard of ['trusted_schema = OFF', 'cell_size_check = ON', 'query_only = ON']) db.pragma(guard);
  const lines = db.prepare('PRAGMA integrity_check(${MOST_NAMED})').pluck().all();
  process.stdout.write(JSON.stringify(lines));
`;

export interface Checker {
  /** As `verifyDatabase`, for one file that nobody writes to. Throws the signal's reason at once. */
  check(path: string): Promise<VerifyReport>;
  /** Ends its process. Idempotent. */
  close(): void;
}

/** For a file of about `bytes`. */
export function openChecker(bytes: number, signal?: AbortSignal): Checker {
  if (bytes < APART_BYTES) return { check: async (path) => verifyDatabase(path), close: () => {} };
  const closing = new AbortController();
  const path = new PassThrough();
  const answer = integrityOf(path, AbortSignal.any([closing.signal, ...(signal ? [signal] : [])]));
  // Who is not asked is not heard either.
  answer.catch(() => undefined);
  return {
    check: async (file) => {
      path.end(file);
      return verifyDatabase(file, await answer);
    },
    close: () => closing.abort(),
  };
}

/** Of the file that `path` names. Undefined when it could not be told there: it has to be looked at here. */
async function integrityOf(path: PassThrough, signal: AbortSignal): Promise<string[] | undefined> {
  const sqlite = createRequire(import.meta.url).resolve('better-sqlite3');
  const options = { timeoutMs: DEADLINE_MS, input: path, signal };
  try {
    const { code, stdout } = await run(process.execPath, ['-e', CHECK, sqlite], options);
    return code === 0 ? (JSON.parse(stdout) as string[]) : undefined;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unavailable') return undefined;
    throw error;
  }
}
