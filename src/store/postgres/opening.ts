// The first connections to a database: waits for a primary, migrates, and says which database it is.
import { displayAddress, displayHost } from '../../domain/database-address.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { printable } from '../../domain/printable.ts';
import type { Connection } from './connection.ts';
import { callerError, NoHost, StatementFailure } from './failures.ts';
import type { Hosts } from './hosts.ts';
import { migrate } from './migrate.ts';

/** A primary is awaited for so long: no longer than by a statement (docs/design/postgres.md#lost-answers). */
const WAIT_MS = 5000;
const PAUSE_MS = 250;

export interface OpeningOptions {
  hosts: Hosts;
  program: string;
  requireSyncStandby: boolean;
  newInstance(): { id: string; key: string };
  clock: Clock;
  logger: Logger;
}

/** Where the database is, without user and password. */
export interface DatabaseFacts {
  /** The address of the primary, such as `db1:5432`. */
  host: string;
  database: string;
  /** The version of the server, such as `15.8`. */
  version: string;
  /** Whether a commit waits for a standby. */
  waitsForStandby: boolean;
}

/**
 * Brings the schema of the primary up to date. Throws `unavailable` with the reason of every host when no primary was
 * found for 5 s, and at once for what only an operator can change; `conflict` as `migrate` does.
 */
export async function prepareDatabase(options: OpeningOptions): Promise<DatabaseFacts> {
  const { hosts, program, newInstance, requireSyncStandby, clock, logger } = options;
  const connection = await firstConnection(options);
  try {
    const created_at = new Date(clock.now()).toISOString();
    const instance = { ...newInstance(), created_at };
    await migrate(connection, { program, instance, monotonic: () => clock.monotonic() });
    const facts = await factsOf(connection);
    if (requireSyncStandby && !facts.waitsForStandby)
      logger.warn(
        { host: facts.host, database: facts.database },
        'Commits do not wait for a standby, so a failover can lose acknowledged changes. Set synchronous_standby_names in PostgreSQL, or database.require_sync_standby to false if the database replicates by other means.',
      );
    return facts;
  } catch (error) {
    throw callerError(error);
  } finally {
    await connection.end();
  }

  async function factsOf(open: Connection): Promise<DatabaseFacts> {
    const [row] = await open.run<{ version: string; waits: boolean }>(FACTS);
    const { database } = hosts.address;
    return {
      host: displayHost(open.host),
      database,
      version: row?.version.split(' ', 1)[0] ?? '',
      waitsForStandby: row?.waits === true,
    };
  }
}

/** Readable by every user. */
const FACTS = {
  name: 'facts-server',
  text: `SELECT current_setting('server_version') AS version,
    current_setting('synchronous_standby_names') <> ''
      AND current_setting('synchronous_commit') NOT IN ('off', 'local') AS waits`,
};

async function firstConnection({ hosts, clock, logger }: OpeningOptions): Promise<Connection> {
  const deadline = clock.monotonic() + WAIT_MS;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await hosts.open();
    } catch (error) {
      const failure = startFailure(error, hosts);
      if (failure.retryAfterMs === undefined || clock.monotonic() >= deadline) throw failure;
      if (isFirst)
        logger.warn({ err: failure }, 'The database does not accept connections yet; retrying for 5 s.');
      await clock.sleep(PAUSE_MS);
    }
  }
}

/** Shows hosts and reasons: for the start and for commands, whose reader is the operator. */
export function startFailure(error: unknown, { address }: Hosts): ServiceError {
  const { code, message, remedy, retryAfterMs, cause } = callerError(error);
  const reasons =
    cause instanceof NoHost
      ? cause.hosts.map(({ host, reason }) => `${displayHost(host)}: ${reasonOf(reason)}`)
      : [`${displayAddress(address)}: ${reasonOf(cause)}`];
  return new ServiceError(code, `${message} ${reasons.join(' ')}`, { remedy, retryAfterMs, cause });
}

/** A sentence of the network or the server about a connection that failed. */
export function reasonOf(reason: unknown): string {
  if (reason instanceof StatementFailure) return reasonOf(reason.error.cause);
  const text = reason instanceof Error && reason.message !== '' ? reason.message : 'it did not answer';
  return `${printable(text).slice(0, 200).replace(/\.$/, '')}.`;
}
