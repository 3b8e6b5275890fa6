// `svc db inspect` and `svc db verify`: what a database file is, and whether it is sound. Nothing is changed.
import { resolve } from 'node:path';
import type { AcceptReport, DatabaseFacts, VerifyReport } from '../../schema/db-report.ts';
import { verifyDatabase } from '../../store/sqlite/check.ts';
import { settlePath } from '../../store/sqlite/file.ts';
import { inspectDatabase } from '../../store/sqlite/inspect.ts';
import { forgetLoss, lossOf } from '../../store/sqlite/loss-record.ts';
import { fileOf } from '../../store/sqlite/reader.ts';

/** Throws `not_found`, `bad_request` (no regular file), `conflict` (empty), and as the store does. */
export async function inspectFile(path: string): Promise<DatabaseFacts> {
  return inspectDatabase(resolve(path));
}

/** What is wrong is in the report; throws as `inspectFile`. */
export async function verifyFile(path: string): Promise<VerifyReport> {
  return verifyDatabase(resolve(path), 'rows');
}

/** Throws `not_found` when there is no database. */
export async function acceptLoss(database: string): Promise<AcceptReport> {
  fileOf(resolve(database));
  const path = settlePath(database);
  const accepted = lossOf(path);
  forgetLoss(path);
  return { database: path, ...(accepted && { accepted }) };
}
