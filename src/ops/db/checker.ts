// Checks database files with the long check, of every page and index, apart from this process where that takes long: so
// Ctrl-C does not wait, and the caller hashes meanwhile. The process is made ready while the file is still being copied.
import type { VerifyReport } from '../../schema/db-report.ts';
import { checkApart } from '../../store/sqlite/apart.ts';
import { MOST_NAMED, verifyDatabase } from '../../store/sqlite/check.ts';

/** A smaller file is checked in less time than a process starts. */
const APART_BYTES = 16 * 1024 * 1024;

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
  const apart = checkApart(
    `integrity_check(${MOST_NAMED})`,
    AbortSignal.any([closing.signal, ...(signal ? [signal] : [])]),
  );
  return {
    check: async (path) => {
      const answer = await apart.ask(path);
      // What was not told there is looked at here.
      return verifyDatabase(path, answer && 'lines' in answer ? answer.lines : undefined);
    },
    close: () => closing.abort(),
  };
}
