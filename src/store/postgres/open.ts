// Opens the store over PostgreSQL: connects to the primary, migrates, and reads the identity of the database.

import { parseAddress } from '../../domain/database-address.ts';
import type { Clock, Ids, Logger, Random } from '../../domain/ports.ts';
import type { SharedState } from '../seam/shared-database.ts';
import type { Instance, Store } from '../store.ts';
import { auditStore } from './audit.ts';
import { clockStore } from './clock.ts';
import type { Statement } from './connection.ts';
import { eventStore } from './events.ts';
import { execStore } from './execs.ts';
import { callerError } from './failures.ts';
import { Hosts } from './hosts.ts';
import { idempotencyStore } from './idempotency.ts';
import { keyStore } from './keys.ts';
import { prepareDatabase } from './opening.ts';
import { Numbering } from './outbox.ts';
import { OwnConnection } from './own-connection.ts';
import { ConnectionPool } from './pool.ts';
import { noPool } from './pool-vms.ts';
import { warmStore } from './prewarmed.ts';
import { quotaStore } from './quotas.ts';
import { replicaStore, roleStore } from './replicas.ts';
import { runtimeStore } from './runtimes.ts';
import { sandboxStore } from './sandboxes.ts';
import { secretStore } from './secrets.ts';
import { sessionStore } from './sessions.ts';
import { Signals } from './signals.ts';
import { templateStore } from './templates.ts';
import { ticketStore } from './tickets.ts';
import { timeStore } from './time.ts';
import { usageStore } from './usage.ts';
import { createWork, type Work } from './work.ts';
import { leaseStore, workerStore } from './workers.ts';

export interface PostgresOptions {
  url: string;
  /** The version of the program, recorded with a migration. */
  program: string;
  /** Statements at once. */
  pool: number;
  /** False behind poolers that do not keep prepared statements. */
  prepare: boolean;
  /** Warns if commits do not wait for a standby. */
  requireSyncStandby: boolean;
  /** False behind poolers that do not pass notifications: other processes are then noticed by polling. True unless given. */
  listen?: boolean;
  clock: Clock;
  random: Random;
  ids: Ids;
  logger: Logger;
}

/**
 * Opens the store in the database of `url`, and migrates it first if needed. Throws `bad_request` (malformed URL),
 * `conflict` (of another program, of a newer version), `unavailable` (no primary, wrong password).
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const { clock, random, ids, logger } = options;
  const hosts = new Hosts({ address: parseAddress(options.url), clock, prepare: options.prepare });
  const newInstance = () => ({ id: ids.uuid(), key: random.bytes(32).toString('hex') });
  const facts = await prepareDatabase({ ...options, hosts, newInstance });
  const pool = new ConnectionPool({ clock, size: options.pool, open: () => hosts.open() });
  const own = new OwnConnection(() => hosts.open());
  const repetitions = { refused: 0, unknown: 0, final: 0 };
  const work = createWork({
    pool,
    clock,
    random,
    repeated: (outcome) => {
      repetitions[outcome]++;
      logger.debug({ outcome }, 'Repeating a database operation.');
    },
  });
  const signals = new Signals({
    work,
    open: () => hosts.open(),
    listen: options.listen ?? true,
    clock,
    logger,
  });
  const numbering = new Numbering(work, clock, () => signals.send('events'));
  const table = { work, clock, ids, numbering };
  try {
    const [instance] = await work.read<Instance & Record<string, unknown>>(INSTANCE);
    if (!instance) throw new Error('The database has no instance.');
    // A process that was killed may have left events without ids.
    numbering.request();
    signals.start();
    const { host, database, version } = facts;
    const words = `PostgreSQL ${version}, database ${database} on ${host}`;
    logger.info({ instance: instance.id, host, database, version }, `The database is open: ${words}.`);
    return {
      instance,
      sandboxes: sandboxStore(table),
      templates: templateStore(work),
      quotas: quotaStore(table),
      keys: keyStore(work),
      sessions: sessionStore(work),
      secrets: secretStore(work),
      warm: warmStore(work),
      events: eventStore(table),
      execs: execStore(work),
      usage: usageStore(work),
      pool: noPool,
      workers: workerStore(work),
      leases: leaseStore(work),
      idempotency: idempotencyStore(work),
      audit: auditStore(work, ids),
      clock: clockStore(work),
      time: timeStore(own),
      // A process that died may have left events without ids.
      replicas: replicaStore(own, () => numbering.request()),
      roles: roleStore(own),
      tickets: ticketStore(work),
      runtimes: runtimeStore(work),
      signals,
      shared: {
        state: () => stateOf(work),
        repetitions: () => ({ refused: repetitions.refused, unknown: repetitions.unknown }),
      },
      ping: createPing(work, clock),
      condition: () => ({ isChecking: false }),
      close: async () => {
        await numbering.close();
        await signals.close();
        await Promise.all([pool.close(), own.close()]);
      },
    };
  } catch (error) {
    await pool.close();
    throw callerError(error);
  }
}

/** Made by the first migration. */
const INSTANCE: Statement = { name: 'instance', text: 'SELECT id, key, created_at FROM instance' };
const PROBE: Statement = { name: 'probe', text: 'UPDATE confirmations SET count = count + 1 WHERE one = 1' };

/** Every user may read these; what standbys are called needs more rights. */
const STATE: Statement = {
  name: 'shared-state',
  text: `SELECT count(*)::int AS outbox_events,
      coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(timestamp)::timestamptz)), 0)::float8
        AS outbox_age_seconds,
      (SELECT count(*)::int FROM pg_stat_replication) AS standbys,
      current_setting('synchronous_standby_names') <> ''
        AND current_setting('synchronous_commit') NOT IN ('off', 'local') AS waits_for_standby
    FROM outbox`,
};

async function stateOf(work: Work): Promise<SharedState> {
  const [row] = await work.read<SharedState>(STATE);
  if (!row) throw new Error('The database gave no row for its state.');
  return row;
}

/** A commit, so that it also shows a standby that is missing. Callers at the same time share one. */
function createPing(work: Work, clock: Clock): Store['ping'] {
  let running: Promise<{ commit_ms: number }> | undefined;
  const probe = async () => {
    const since = clock.monotonic();
    await work.write(PROBE);
    return { commit_ms: clock.monotonic() - since };
  };
  return () => {
    running ??= probe().finally(() => {
      running = undefined;
    });
    return running;
  };
}
