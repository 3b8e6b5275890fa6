// `svc db accept`: an operator acknowledges the data lost by an unclean stop. A running server notices by itself.
import { resolve } from 'node:path';
import type { AcceptReport } from '../../schema/db-report.ts';
import { settlePath } from '../../store/sqlite/file.ts';
import { forgetLoss, lossOf } from '../../store/sqlite/loss-record.ts';
import { fileOf } from '../../store/sqlite/reader.ts';

/** Throws `not_found` when there is no database. */
export async function acceptLoss(database: string): Promise<AcceptReport> {
  fileOf(resolve(database));
  const path = settlePath(database);
  const accepted = lossOf(path);
  forgetLoss(path);
  return { database: path, ...(accepted && { accepted }) };
}
