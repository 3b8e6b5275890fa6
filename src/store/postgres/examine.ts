// Looks at a PostgreSQL database for `svc doctor`, `svc db inspect` and support bundles, without changing anything that stays.
// Nothing that it returns contains the URL, the user or the password.
import { displayHost, parseAddress } from '../../domain/database-address.ts';
import type { Clock } from '../../domain/ports.ts';
import { Connection, type DialOptions, type Row } from './connection.ts';
import { isPooled, NotPrimary, StatementFailure } from './failures.ts';
import { Hosts } from './hosts.ts';
import { readFacts } from './migrate.ts';
import { reasonOf, startFailure } from './opening.ts';

/** Fewer than a server waits for; a check has 5 s. */
const NOTIFICATION_MS = 2000;
/** A server beats each second. */
const BEATS_MS = 2500;
/** How often a pooler is asked for another server connection. */
const ROUNDS = 20;

export interface HostSeen {
  /** Such as `db1:5432`. */
  host: string;
  state: 'primary' | 'standby' | 'down';
  /** Why it is not the primary, a sentence. */
  reason?: string;
}

export interface ServerFacts extends Row {
  /** Such as `15.8`. */
  version: string;
  /** Such as 150008. */
  version_number: number;
  encrypted: boolean;
  /** Such as `UTF8`. */
  encoding: string;
  superuser: boolean;
  /** Whether users without rights may connect to this database, and how many there are. */
  open_to_others: boolean;
  others: number;
  may_create: boolean;
  max_connections: number;
  synchronous_standby_names: string;
  synchronous_commit: string;
  /** Standbys that are connected, and those of them that commits wait for; the latter is 0 without the right to see it. */
  standbys: number;
  synchronous: number;
  may_see_standbys: boolean;
  database_bytes: number;
}

const FACTS = `SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
  current_setting('server_version_num')::int AS version_number,
  coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted,
  current_setting('server_encoding') AS encoding,
  has_database_privilege('public', current_database(), 'CONNECT') AS open_to_others,
  (SELECT count(*) FROM pg_roles WHERE rolcanlogin AND NOT rolsuper AND rolname <> current_user) AS others,
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
  coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS max_connections,
  current_setting('synchronous_standby_names') AS synchronous_standby_names,
  current_setting('synchronous_commit') AS synchronous_commit,
  (SELECT count(*) FROM pg_stat_replication) AS standbys,
  (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS synchronous,
  pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS may_see_standbys,
  pg_database_size(current_database()) AS database_bytes`;

/** One process, as its row shows it. */
export interface ReplicaSeen {
  id: string;
  url: string;
  version: string;
  config_print: string;
  /** Whether it beat while it was looked at. */
  alive: boolean;
}

export interface RoleSeen extends Row {
  name: string;
  holder: string | null;
}

export interface TableSize extends Row {
  name: string;
  /** An estimate of the server. */
  rows: number;
  bytes: number;
}

export class PostgresExam {
  readonly #options: DialOptions;
  readonly #hosts: Hosts;
  #connection: Promise<Connection> | undefined;

  /** Connects when it is asked. Throws `bad_request` for a malformed URL. */
  constructor(url: string, clock: Clock) {
    // Statements have no names of their own.
    this.#options = { address: parseAddress(url), clock, prepare: false };
    this.#hosts = new Hosts(this.#options);
  }

  /** In the order of the URL. */
  async hosts(): Promise<HostSeen[]> {
    return Promise.all(
      this.#options.address.hosts.map(async (host): Promise<HostSeen> => {
        const name = displayHost(host);
        try {
          await (await Connection.dial(host, this.#options)).end();
          return { host: name, state: 'primary' };
        } catch (error) {
          const cause = error instanceof StatementFailure ? error.error.cause : error;
          const state = cause instanceof NotPrimary ? 'standby' : 'down';
          return { host: name, state, reason: reasonOf(error) };
        }
      }),
    );
  }

  get tls(): 'disable' | 'require' | 'verify-full' {
    return this.#options.address.tls;
  }

  async facts(): Promise<ServerFacts> {
    return (await this.ask<ServerFacts>(FACTS))[0]!;
  }

  /** The schema version and what it needs; 0 for an empty database. Throws `conflict` for one that this program must not use. */
  async schema(): Promise<{ version: number; works_with: number }> {
    return this.#translated(readFacts(await this.#open()));
  }

  /** ms of round trips, and of commits that wait for what all commits wait for. */
  async latencies(count: number): Promise<{ trips: number[]; commits: number[] }> {
    const trips: number[] = [];
    const commits: number[] = [];
    for (let i = 0; i < count; i++) {
      trips.push(await this.#timed('SELECT 1'));
      // A record in the write-ahead log, and in no table.
      commits.push(await this.#timed("SELECT pg_logical_emit_message(true, 'svc', '')::text"));
    }
    return { trips, commits };
  }

  /** Measures how far the clock of the primary is ahead of ours, in ms. */
  async clockOffset(): Promise<number> {
    const { clock } = this.#options;
    await this.ask('SELECT 1');
    const [before, wall] = [clock.monotonic(), clock.now()];
    const [row] = await this.ask<{ now: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
    );
    return (row?.now ?? Number.NaN) - wall - (clock.monotonic() - before) / 2;
  }

  /** Whether statements stay prepared on a connection, and notifications arrive: not behind a pooler by transactions. */
  async pooling(): Promise<{ keepsPrepared: boolean; passesNotifications: boolean }> {
    const [first, second] = await Promise.all([this.#dial(true), this.#dial(true)]);
    try {
      return {
        keepsPrepared: await keepsPrepared(first, second),
        passesNotifications: await this.#passesNotifications(first, second),
      };
    } finally {
      await Promise.all([first.end(), second.end()]);
    }
  }

  /** Takes 2.5 s if there are any. */
  async replicas(): Promise<ReplicaSeen[]> {
    const text = 'SELECT id, url, version, config_print, beats FROM replicas ORDER BY id';
    type Beat = Omit<ReplicaSeen, 'alive'> & { beats: number };
    const before = await this.ask<Beat>(text);
    if (before.length === 0) return [];
    await this.#options.clock.sleep(BEATS_MS);
    return (await this.ask<Beat>(text)).map(({ beats, ...replica }) => ({
      ...replica,
      alive: before.find(({ id }) => id === replica.id)?.beats !== beats,
    }));
  }

  roles(): Promise<RoleSeen[]> {
    return this.ask<RoleSeen>('SELECT name, holder FROM roles ORDER BY name');
  }

  async tickets(): Promise<number> {
    const [row] = await this.ask<{ waiting: number }>(
      'SELECT count(*) AS waiting FROM tickets WHERE outcome IS NULL',
    );
    return row?.waiting ?? 0;
  }

  tables(): Promise<TableSize[]> {
    return this.ask<TableSize>(
      `SELECT relname AS name, greatest(reltuples, 0)::bigint AS rows, pg_total_relation_size(oid) AS bytes
        FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY relname`,
    );
  }

  /** On the primary. Rejects with a ServiceError. */
  async ask<R extends object>(text: string, values: readonly (string | number)[] = []): Promise<R[]> {
    const connection = await this.#open();
    return this.#translated(connection.run<R>({ name: 'exam', text, values }));
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await (await this.#connection?.catch(() => undefined))?.end();
  }

  async #open(): Promise<Connection> {
    const known = await this.#connection?.catch(() => undefined);
    if (known?.isOpen) return known;
    this.#connection = this.#dial(false);
    return this.#connection;
  }

  #dial(prepare: boolean): Promise<Connection> {
    const hosts = prepare ? new Hosts({ ...this.#options, prepare }) : this.#hosts;
    return hosts.open().catch((error) => {
      throw startFailure(error, hosts);
    });
  }

  async #timed(text: string): Promise<number> {
    const since = this.#options.clock.monotonic();
    await this.ask(text);
    return this.#options.clock.monotonic() - since;
  }

  async #passesNotifications(listener: Connection, sender: Connection): Promise<boolean> {
    const channel = 'svc_doctor';
    let arrived!: () => void;
    const notified = new Promise<boolean>((resolve) => {
      arrived = () => resolve(true);
    });
    listener.onNotification = () => arrived();
    await this.#translated(listener.script(`LISTEN ${channel}`));
    await this.#translated(sender.script(`NOTIFY ${channel}`));
    const timer = new AbortController();
    const late = this.#options.clock.sleep(NOTIFICATION_MS, timer.signal).then(
      () => false,
      () => false,
    );
    return Promise.race([notified, late]).finally(() => timer.abort());
  }

  async #translated<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw error instanceof StatementFailure ? error.error : error;
    }
  }
}

/**
 * A pooler by transactions gives a later statement another server connection, which does not know it; not always the next one. So the
 * second connection takes with a transaction what the first one has just used.
 */
async function keepsPrepared(first: Connection, second: Connection): Promise<boolean> {
  const ask = () => first.run({ name: 'doctor-prepared', text: 'SELECT 1' });
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await ask();
      await second.run({ name: '', text: 'BEGIN' });
      await ask().finally(() => second.run({ name: '', text: 'ROLLBACK' }));
    }
    return true;
  } catch (error) {
    if (error instanceof StatementFailure && isPooled(error)) return false;
    throw error instanceof StatementFailure ? error.error : error;
  }
}
