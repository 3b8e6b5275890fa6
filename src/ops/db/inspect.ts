// `svc db inspect` and `svc db verify`: what a database file is, and whether it is sound. Nothing is changed.
import { resolve } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { Host } from '../../host/host.ts';
import type { AcceptReport, DatabaseFacts, VerifyReport } from '../../schema/db-report.ts';
import { SCHEMA_VERSION } from '../../store/postgres/migrate.ts';
import { verifyDatabase } from '../../store/sqlite/check.ts';
import { settlePath } from '../../store/sqlite/file.ts';
import { inspectDatabase } from '../../store/sqlite/inspect.ts';
import { forgetLoss, lossOf } from '../../store/sqlite/loss-record.ts';
import { fileOf } from '../../store/sqlite/reader.ts';
import { isDump, readDump } from './postgres-programs.ts';

/** Throws `not_found`, `bad_request` (no regular file), `conflict` (empty), and as the store does. */
export async function inspectFile(path: string): Promise<DatabaseFacts> {
  return inspectDatabase(resolve(path));
}

/** What is wrong is in the report; throws as `inspectFile`. */
export async function verifyFile(path: string): Promise<VerifyReport> {
  return verifyDatabase(resolve(path), 'rows');
}

/** Like `verifyFile`, also for a dump of PostgreSQL, which needs pg_restore on this host (`unavailable`). */
export async function verifyBackup(path: string, { host }: { host: Host }): Promise<VerifyReport> {
  const file = resolve(path);
  fileOf(file);
  return isDump(file) ? verifyDump(file, host) : verifyFile(file);
}

async function verifyDump(file: string, host: Host): Promise<VerifyReport> {
  const reading = await readDump(file, { host }).catch((error: ServiceError) => {
    if (error.code !== 'internal') throw error;
    return error;
  });
  const found = 'ours' in reading ? reading : { ours: false };
  const integrity = reading instanceof ServiceError ? [reading.message] : [];
  const identity =
    found.ours || integrity.length > 0 ? [] : ['The dump is not of a database of this service.'];
  return {
    ok: integrity.length === 0 && identity.length === 0,
    facts: {
      file,
      size_bytes: fileOf(file).size,
      wal_bytes: 0,
      tables: [],
      schema_version: 0,
      known_schema_version: SCHEMA_VERSION,
      ...found,
    },
    checks: [
      { id: 'integrity', title: 'pg_restore reads the dump to its end', problems: integrity },
      { id: 'identity', title: 'The dump is of a database of this service', problems: identity },
    ],
  };
}

/** Throws `not_found` when there is no database. */
export async function acceptLoss(database: string): Promise<AcceptReport> {
  fileOf(resolve(database));
  const path = settlePath(database);
  const accepted = lossOf(path);
  forgetLoss(path);
  return { database: path, ...(accepted && { accepted }) };
}
