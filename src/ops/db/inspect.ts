// `svc db inspect` and `svc db verify`: what a database file is, and whether it is sound. Nothing is changed.
import { resolve } from 'node:path';
import type { DatabaseFacts, VerifyReport } from '../../schema/db-report.ts';
import { verifyDatabase } from '../../store/sqlite/check.ts';
import { inspectDatabase } from '../../store/sqlite/inspect.ts';

/** Throws `not_found`, `bad_request` (no regular file), `conflict` (empty), and as the store does. */
export async function inspectFile(path: string): Promise<DatabaseFacts> {
  return inspectDatabase(resolve(path));
}

/** What is wrong is in the report; throws as `inspectFile`. */
export async function verifyFile(path: string): Promise<VerifyReport> {
  return verifyDatabase(resolve(path), 'rows');
}
