// Migrates a database to this program's schema. Forward only. Processes of two versions work side by side: a migration says
// from which program version on it may be used, and only adds.
import { ServiceError } from '../../domain/errors.ts';
import type { Instance } from '../store.ts';
import type { Connection } from './connection.ts';
import { StatementFailure } from './failures.ts';
import { FLEET_FUNCTIONS } from './migrations/0017-fleet-functions.ts';
import { RECORD_FUNCTIONS } from './migrations/0017-record-functions.ts';
import { RECORDS } from './migrations/0017-records.ts';
import { EVENT_FUNCTIONS, RESERVE_FUNCTIONS } from './migrations/0017-sandbox-functions.ts';
import { SANDBOXES } from './migrations/0017-sandboxes.ts';
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

interface Migration {
  /** The number of the SQLite migration that makes the same tables. */
  version: number;
  /** The oldest schema version that a program must know to use this one. */
  works_with: number;
  sql: string;
}

const FOUNDATION = [
  SANDBOXES,
  RECORDS,
  RESERVE_FUNCTIONS,
  EVENT_FUNCTIONS,
  RECORD_FUNCTIONS,
  FLEET_FUNCTIONS,
].join('');

const MIGRATIONS: readonly Migration[] = [
  { version: 17, works_with: 17, sql: FOUNDATION },
  { version: 18, works_with: 17, sql: WORKER_LABELS },
  // Older programs would search for all prewarmed sandboxes on their own host.
  { version: 19, works_with: 19, sql: PREWARMED_WORKERS },
  { version: 20, works_with: 19, sql: WORKER_IMAGES },
  { version: 21, works_with: 19, sql: ROLES },
  { version: 22, works_with: 19, sql: TICKETS },
  // Older programs would end prewarmed sandboxes that another replica has claimed.
  { version: 23, works_with: 23, sql: PREWARMED_CLAIMS },
  // Older programs would stamp rows by the clocks of their machines.
  { version: 24, works_with: 24, sql: SHARED_TIME },
  { version: 25, works_with: 24, sql: IMAGE_DIGESTS },
  { version: 26, works_with: 24, sql: JOINED_ADMISSIONS },
  { version: 27, works_with: 24, sql: EGRESS },
  { version: 28, works_with: 24, sql: SECRETS },
  { version: 29, works_with: 24, sql: SESSIONS },
  { version: 30, works_with: 24, sql: USAGE },
  { version: 31, works_with: 24, sql: RUNTIMES },
  { version: 32, works_with: 24, sql: PREWARMED_EGRESS },
];
export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.version;

/** One step may rewrite a large table. */
const STEP_MS = 600_000;
/** For another process that migrates. */
const WAIT_MS = 60_000;
const MARK = 'svc';
/** Others lack characters that callers may use. A database with another one that holds records already stays in use. */
const ENCODING = 'UTF8';

interface Facts {
  version: number;
  works_with: number;
}

export interface MigrateOptions {
  /** The version of the program. */
  program: string;
  /** The identity of a new database. Its `created_at` is the present. */
  instance: Instance;
  /** Monotonic ms. */
  monotonic(): number;
  to?: number;
}

/**
 * Brings the database to version `to`, the current one by default. Several processes may call it at once. Throws
 * `conflict` for a database of another program, or of a version that does not work with this one.
 */
export async function migrate(connection: Connection, options: MigrateOptions): Promise<void> {
  const { to = SCHEMA_VERSION, monotonic } = options;
  const deadline = monotonic() + WAIT_MS;
  for (;;) {
    const facts = await readFacts(connection);
    if (facts.version >= to) return;
    const next = MIGRATIONS.find(({ version }) => version > facts.version)!;
    try {
      await step(connection, next, options);
    } catch (error) {
      const isBusy =
        error instanceof StatementFailure && error.outcome === 'refused' && error.repeat === 'now';
      if (!isBusy || monotonic() >= deadline) throw error;
    }
  }
}

/** As `migrate`, in the transaction that the connection is in: with its end everything or nothing has happened. */
export async function migrateWithin(connection: Connection, options: MigrateOptions): Promise<void> {
  await connection.run(LOCK);
  const { version } = await readFacts(connection);
  for (const migration of MIGRATIONS)
    if (migration.version > version) await apply(connection, migration, options);
}

const LOCK = { name: 'migrate-lock', text: 'SELECT pg_advisory_xact_lock(9, 0)::text AS held' };

/** Version 0: the database has no tables. Throws `conflict` for a database that this program must not use. */
export async function readFacts(connection: Connection): Promise<Facts> {
  const [found] = await connection.run<{ mark: string | null; tables: number; encoding: string }>({
    name: 'facts-mark',
    text: `SELECT obj_description(to_regclass('schema_facts'), 'pg_class') AS mark,
      (SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace) AS tables,
      current_setting('server_encoding') AS encoding`,
  });
  if (found?.mark !== MARK) {
    if (found?.tables === 0 && found.encoding !== ENCODING) throw otherEncoding(found.encoding);
    if (found?.tables === 0) return { version: 0, works_with: 0 };
    throw new ServiceError('conflict', 'The database contains tables of another program.', {
      remedy: 'Set database.url to a database that only this service uses.',
    });
  }
  const [facts = { version: 0, works_with: 0 }] = await connection.run<Facts>({
    name: 'facts-version',
    text: 'SELECT version, works_with FROM schema_facts',
  });
  if (facts.works_with <= SCHEMA_VERSION) return facts;
  throw new ServiceError(
    'conflict',
    `The database has schema version ${facts.version}, which needs a program that knows version ${facts.works_with}; this one knows ${SCHEMA_VERSION}.`,
    { remedy: 'Run the program version that migrated it, or a newer one. The database was not changed.' },
  );
}

const otherEncoding = (encoding: string) =>
  new ServiceError('conflict', `The database has the encoding ${encoding}; this service needs ${ENCODING}.`, {
    remedy: 'Create it with `createdb --encoding UTF8 --template template0`, and set database.url to it.',
  });

/** One transaction. Another process that migrates holds the lock until its end. */
async function step(connection: Connection, migration: Migration, options: MigrateOptions): Promise<void> {
  await connection.script('BEGIN; SET LOCAL statement_timeout = 0');
  try {
    await connection.run(LOCK);
    const present = await readFacts(connection);
    if (present.version < migration.version) await apply(connection, migration, options);
    await connection.script('COMMIT');
  } catch (error) {
    if (connection.isOpen) await connection.script('ROLLBACK');
    throw error;
  }
}

async function apply(
  connection: Connection,
  { version, works_with, sql }: Migration,
  { program, instance }: MigrateOptions,
): Promise<void> {
  await connection.script(sql, STEP_MS);
  await connection.script(`COMMENT ON TABLE schema_facts IS '${MARK}'`);
  await connection.run({
    name: 'migrate-note',
    text: `INSERT INTO schema_facts (one, version, works_with, program, migrated_at) VALUES (1, $1, $2, $3, $4)
      ON CONFLICT (one) DO UPDATE SET version = excluded.version, works_with = excluded.works_with,
        program = excluded.program, migrated_at = excluded.migrated_at`,
    values: [version, works_with, program, instance.created_at],
  });
  await connection.run({
    name: 'migrate-instance',
    text: `INSERT INTO instance (id, key, created_at) SELECT $1, $2, $3
      WHERE NOT EXISTS (SELECT 1 FROM instance)`,
    values: [instance.id, instance.key, instance.created_at],
  });
}
