// Checks database files with the long checks, of every page, index and row, apart from this process where that takes long: so
// Ctrl-C does not wait, and the caller hashes meanwhile. The process is made ready while the file is still being copied.
import type { VerifyReport } from '../../schema/db-report.ts';
import { MOST_NAMED, type Scope, verifyDatabase } from '../../store/sqlite/check.ts';
import { startCheckProcess } from '../../store/sqlite/check-process.ts';
import { withReader } from '../../store/sqlite/reader.ts';
import { rowStatements } from '../../store/sqlite/row-check.ts';

/** A smaller file is checked in less time than a process starts. */
const APART_BYTES = 16 * 1024 * 1024;

export interface Checker {
  /** As `verifyDatabase`, for one file that nobody writes to. Throws the signal's reason at once. */
  check(path: string): Promise<VerifyReport>;
  /** Ends its process. Idempotent. */
  close(): void;
}

/** For a file of about `bytes`. */
export function openChecker(bytes: number, scope: Scope, signal?: AbortSignal): Checker {
  if (bytes < APART_BYTES) return { check: async (path) => verifyDatabase(path, scope), close: () => {} };
  const closing = new AbortController();
  const apart = startCheckProcess(
    `integrity_check(${MOST_NAMED})`,
    AbortSignal.any([closing.signal, ...(signal ? [signal] : [])]),
  );
  return {
    check: async (path) => {
      const answer = await apart.ask(path, scope === 'rows' ? statementsOf(path) : []);
      // What was not found out there is looked at here.
      if (!answer || !('lines' in answer)) return verifyDatabase(path, scope);
      const { lines: integrity, rows } = answer;
      return verifyDatabase(path, scope, { integrity, ...(rows && { rows: rows.slice(0, MOST_NAMED) }) });
    },
    close: () => closing.abort(),
  };
}

/** None of a file that is not a database of ours: the report then says so. */
function statementsOf(path: string): string[] {
  try {
    return withReader(path, rowStatements);
  } catch {
    return [];
  }
}
