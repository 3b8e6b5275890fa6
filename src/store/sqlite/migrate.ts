// Brings a database to the schema this program speaks. Forward only: `user_version` is the number of migrations applied,
// each in a transaction of its own together with its number.
import type { Database } from 'better-sqlite3';
import { ServiceError } from '../../domain/errors.ts';
import { FOUNDATION } from './migrations/0001-foundation.ts';
import { QUOTAS } from './migrations/0002-quotas.ts';
import { AUDIT } from './migrations/0003-audit.ts';
import { TEMPLATES } from './migrations/0004-templates.ts';
import { POOL } from './migrations/0005-pool.ts';
import { WORKERS } from './migrations/0006-workers.ts';
import { TEMPLATE_OWNERS } from './migrations/0007-template-owners.ts';
import { SHARES } from './migrations/0008-shares.ts';
import { IDEMPOTENCY } from './migrations/0009-idempotency.ts';
import { CLOCK } from './migrations/0010-clock.ts';
import { WARNINGS } from './migrations/0011-warnings.ts';

const MIGRATIONS: readonly string[] = [
  FOUNDATION,
  QUOTAS,
  AUDIT,
  TEMPLATES,
  POOL,
  WORKERS,
  TEMPLATE_OWNERS,
  SHARES,
  IDEMPOTENCY,
  CLOCK,
  WARNINGS,
];
export const SCHEMA_VERSION = MIGRATIONS.length;

/** `svcd`: tells our files from every other SQLite file. */
export const APPLICATION_ID = 0x73766364;

/**
 * Refuses, without writing, what is not ours (`conflict`) or was written by a newer program (`conflict`).
 * A database without any table is new and is welcome.
 */
export function checkIdentity(db: Database): void {
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  const application = db.pragma('application_id', { simple: true });
  if (tables > 0 && application !== APPLICATION_ID)
    throw new ServiceError('conflict', 'The database file belongs to another program.', {
      remedy: 'Point database.path at a file of its own.',
    });
  const version = schemaVersion(db);
  if (version > SCHEMA_VERSION)
    throw new ServiceError(
      'conflict',
      `The database has schema version ${version}, this program knows ${SCHEMA_VERSION}.`,
      { remedy: 'Run the program version that wrote it, or a newer one; it is not changed.' },
    );
}

/** Brings `db` to version `to`, the present one unless an older one is wanted to compare with. */
export function migrate(db: Database, to: number = SCHEMA_VERSION): void {
  for (let version = schemaVersion(db); version < to; version++) {
    const step = db.transaction((sql: string) => {
      db.exec(sql);
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${version + 1}`);
    });
    step.immediate(MIGRATIONS[version]!);
  }
}

export function schemaVersion(db: Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}
