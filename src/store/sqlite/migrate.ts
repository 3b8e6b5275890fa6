// Migrates a database to this program's schema. Forward only: `user_version` is the number of applied migrations, each
// in its own transaction together with its number.
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
import { ACTORS } from './migrations/0012-actors.ts';
import { AUDIT_TARGETS } from './migrations/0013-audit-targets.ts';
import { EXECS } from './migrations/0014-execs.ts';
import { KEYS } from './migrations/0015-keys.ts';
import { WORKER_SECRETS } from './migrations/0016-worker-secrets.ts';
import { REPLICAS } from './migrations/0017-replicas.ts';
import { WORKER_LABELS } from './migrations/0018-worker-labels.ts';
import { PREWARMED_WORKERS } from './migrations/0019-prewarmed-workers.ts';
import { WORKER_IMAGES } from './migrations/0020-worker-images.ts';
import { ROLES } from './migrations/0021-roles.ts';
import { TICKETS } from './migrations/0022-tickets.ts';
import { PREWARMED_CLAIMS } from './migrations/0023-prewarmed-claims.ts';
import { SHARED_TIME } from './migrations/0024-shared-time.ts';
import { IMAGE_DIGESTS } from './migrations/0025-image-digests.ts';
import { JOINED_ADMISSIONS } from './migrations/0026-joined-admissions.ts';
import { EGRESS } from './migrations/0027-egress.ts';
import { SECRETS } from './migrations/0028-secrets.ts';
import { SESSIONS } from './migrations/0029-sessions.ts';
import { USAGE } from './migrations/0030-usage.ts';
import { RUNTIMES } from './migrations/0031-runtimes.ts';
import { PREWARMED_EGRESS } from './migrations/0032-prewarmed-egress.ts';

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
  ACTORS,
  AUDIT_TARGETS,
  EXECS,
  KEYS,
  WORKER_SECRETS,
  REPLICAS,
  WORKER_LABELS,
  PREWARMED_WORKERS,
  WORKER_IMAGES,
  ROLES,
  TICKETS,
  PREWARMED_CLAIMS,
  SHARED_TIME,
  IMAGE_DIGESTS,
  JOINED_ADMISSIONS,
  EGRESS,
  SECRETS,
  SESSIONS,
  USAGE,
  RUNTIMES,
  PREWARMED_EGRESS,
];
export const SCHEMA_VERSION = MIGRATIONS.length;

/** `svcd`: distinguishes this service's files from other SQLite files. */
export const APPLICATION_ID = 0x73766364;

/**
 * Refuses, without writing, files of other programs (`conflict`) and of newer versions (`conflict`). A database without
 * tables is new and accepted.
 */
export function checkIdentity(db: Database): void {
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  const application = db.pragma('application_id', { simple: true });
  if (tables > 0 && application !== APPLICATION_ID)
    throw new ServiceError('conflict', 'The database file belongs to another program.', {
      remedy: 'Set database.path to a file that only this service uses.',
    });
  const version = schemaVersion(db);
  if (version > SCHEMA_VERSION)
    throw new ServiceError(
      'conflict',
      `The database has schema version ${version}, this program supports ${SCHEMA_VERSION}.`,
      { remedy: 'Run the program version that wrote it, or a newer one. The file was not changed.' },
    );
}

/** Migrates `db` to version `to`, the current one by default. */
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
