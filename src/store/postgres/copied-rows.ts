// A PostgreSQL database for `svc db copy`, in one transaction: read from, or filled. Whatever breaks, an uncommitted target is
// as it was before.
import { parseAddress } from '../../domain/database-address.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import {
  COPIED_TABLES,
  type CopiedCounters,
  type CopiedRow,
  LEFT_OUT,
  type RowSource,
  type TablePlan,
} from '../copied-tables.ts';
import type { Instance } from '../store.ts';
import type { Connection } from './connection.ts';
import { copyLines } from './copy-in.ts';
import { StatementFailure } from './failures.ts';
import { Hosts } from './hosts.ts';
import { migrateWithin, readFacts, SCHEMA_VERSION } from './migrate.ts';
import { startFailure } from './opening.ts';

const BATCH = 500;
/** A sort of a large table, or its indexes. */
const LONG_MS = 600_000;
/** A server beats each second. */
const BEATS_MS = 2500;

/** Tables of PostgreSQL alone: the marks of writes and waits of servers that have stopped. `outbox` is numbered first. */
const OF_RUNNING_SERVERS = [
  'outbox',
  'finished_writes',
  'replicas',
  'tickets',
  'ticket_owners',
  'held_runtimes',
] as const;
/** Kept as the migrations make them. */
const OF_THE_SCHEMA = ['schema_facts', 'confirmations', 'roles', 'shared_time'] as const;

/** Tables that a database has before anything was recorded. */
const FIRST_ROWS: readonly string[] = ['instance', 'pool_uids', 'key_changes'];

/** Columns of PostgreSQL alone that have no default. Ends are marked afterwards, the last one of each sandbox. */
const EXTRA: Readonly<Record<string, { columns: string; values(row: CopiedRow): CopiedRow }>> = {
  events: { columns: ', eid, is_last', values: ([id = null]) => [`copied-${id}`, 'f'] },
};

export interface CopyAddress {
  url: string;
  clock: Clock;
}

/** Runs `work` in one transaction, which it must commit itself. Throws ServiceErrors that name hosts and never the URL. */
export async function withCopyOf<T>(
  { url, clock }: CopyAddress,
  work: (copy: PostgresCopy) => Promise<T>,
): Promise<T> {
  const hosts = new Hosts({ address: parseAddress(url), clock, prepare: false });
  const connection = await hosts.open().catch((error) => {
    throw startFailure(error, hosts);
  });
  try {
    return await work(new PostgresCopy(connection, clock));
  } catch (error) {
    if (!(error instanceof StatementFailure)) throw error;
    throw isLocked(error) ? inUse('by another transaction') : error.error;
  } finally {
    // An open transaction is rolled back by the end of its connection.
    await connection.end();
  }
}

export class PostgresCopy implements RowSource {
  readonly #connection: Connection;
  readonly #clock: Clock;

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Throws `conflict` if a server beats in the database. Waits 2.5 s if one was there and did not stop cleanly. */
  async refuseServers(): Promise<void> {
    const { version } = await readFacts(this.#connection);
    if (version < 21) return;
    const before = await this.#beats();
    if (before.size === 0) return;
    await this.#clock.sleep(BEATS_MS);
    const alive = [...(await this.#beats())].find(([id, { beats }]) => before.get(id)?.beats !== beats);
    if (alive) throw inUse(`by ${alive[0]}, which answers at ${alive[1].url}`);
  }

  /** Nobody writes to the tables until the end. The numbering of events that it does is undone with the transaction. */
  async beginReading(): Promise<void> {
    await this.#begin('BEGIN ISOLATION LEVEL REPEATABLE READ');
    const { version } = await readFacts(this.#connection);
    if (version !== SCHEMA_VERSION) throw otherVersion(version, SCHEMA_VERSION);
    const tables = [...COPIED_TABLES, ...OF_RUNNING_SERVERS, 'event_ids'];
    await this.#connection.script(`LOCK TABLE ${tables.join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
    for (let taken = 1; taken > 0; )
      taken = (await this.#one<{ taken: number }>('SELECT svc_number_17(1000) AS taken')).taken;
  }

  /**
   * Empties the database, after migrating it. Returns the counters that the copy must not go below. Throws `conflict` if it
   * has records and not `force`.
   */
  async beginFilling(options: {
    program: string;
    instance: Instance;
    force: boolean;
  }): Promise<Partial<CopiedCounters>> {
    const { program, instance, force } = options;
    await this.#begin('BEGIN');
    const monotonic = () => this.#clock.monotonic();
    await migrateWithin(this.#connection, { program, instance, monotonic });
    if (!force) await this.#refuseRecords();
    const { id } = await this.#one<{ id: string }>('SELECT id FROM instance');
    const counters = id === instance.id ? await this.counters() : {};
    const tables = [...COPIED_TABLES, ...OF_RUNNING_SERVERS, 'active_counts', 'clock_mark'];
    await this.#connection.script(`TRUNCATE ${tables.join(', ')}`);
    return counters;
  }

  async rowCount(tables: readonly TablePlan[]): Promise<number> {
    const counts = tables.map(({ name }) => `(SELECT count(*) FROM ${name})`);
    return (await this.#one<{ total: number }>(`SELECT ${counts.join(' + ')} AS total`)).total;
  }

  async counters(): Promise<CopiedCounters> {
    return this.#one<CopiedCounters & Record<string, unknown>>(
      `SELECT (SELECT last FROM event_ids) AS events,
        coalesce(pg_sequence_last_value(pg_get_serial_sequence('audit', 'id')), 0) AS audit`,
    );
  }

  async *read({ name, columns, order }: TablePlan, signal?: AbortSignal): AsyncGenerator<CopiedRow[]> {
    const names = columns.map((column) => column.name);
    await this.#connection.script(
      `DECLARE copied NO SCROLL CURSOR FOR SELECT ${names.join(', ')} FROM ${name} ORDER BY ${order.join(', ')}`,
      LONG_MS,
    );
    const fetch = { name: 'copy-fetch', text: `FETCH ${BATCH} FROM copied` };
    for (;;) {
      signal?.throwIfAborted();
      const rows = await this.#connection.run<Record<string, CopiedRow[number]>>(fetch, LONG_MS);
      if (rows.length === 0) break;
      yield rows.map((row) => names.map((column) => row[column] ?? null));
    }
    await this.#connection.script('CLOSE copied');
  }

  async write({ name, columns }: TablePlan, batches: AsyncIterable<CopiedRow[]>): Promise<void> {
    const extra = EXTRA[name] ?? { columns: '', values: () => [] };
    const names = columns.map((column) => column.name).join(', ');
    const lines = async function* () {
      for await (const batch of batches) yield copyLines(batch.map((row) => [...row, ...extra.values(row)]));
    };
    await this.#connection.copyIn(`COPY ${name} (${names}${extra.columns}) FROM STDIN`, lines());
  }

  /** After all rows. */
  async raise({ events, audit }: CopiedCounters): Promise<void> {
    await this.#connection.script(
      `UPDATE events SET is_last = true WHERE id IN (SELECT max(id) FROM events
         WHERE sandbox_id IS NOT NULL AND type IN ('sandbox.destroyed', 'sandbox.error') GROUP BY sandbox_id)`,
      LONG_MS,
    );
    await this.#connection.run({
      name: 'copy-event-ids',
      text: `UPDATE event_ids SET last = greatest($1, (SELECT coalesce(max(id), 0) FROM events)), timeline = '', is_synchronous = true`,
      values: [events],
    });
    for (const [table, least] of [
      ['audit', audit],
      ['execs', 0],
    ] as const)
      await this.#connection.run({
        name: `copy-sequence-${table}`,
        text: `SELECT setval(pg_get_serial_sequence('${table}', 'id'), greatest(highest, 1), highest > 0)
          FROM (SELECT greatest($1::bigint, coalesce(max(id), 0)) AS highest FROM ${table}) AS known`,
        values: [least],
      });
  }

  /** The number of live sandboxes by the rows, and by the counters that triggers keep. */
  async activeCounts(): Promise<{ rows: number; counted: number }> {
    return this.#one(
      `SELECT (SELECT count(*) FROM sandboxes WHERE state NOT IN ('destroyed', 'error')) AS rows,
        (SELECT coalesce(sum(active), 0) FROM active_counts) AS counted`,
    );
  }

  async commit(): Promise<void> {
    await this.#connection.script('COMMIT', LONG_MS);
  }

  async #begin(text: string): Promise<void> {
    await this.#connection.script(
      `${text}; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`,
    );
  }

  async #refuseRecords(): Promise<void> {
    const tables = COPIED_TABLES.filter((table) => !FIRST_ROWS.includes(table));
    const looks = tables.map((table) => `SELECT '${table}' AS name WHERE EXISTS (SELECT 1 FROM ${table})`);
    const full = await this.#connection.run<{ name: string }>({
      name: 'copy-full',
      text: looks.join(' UNION ALL '),
    });
    if (full.length === 0) return;
    throw new ServiceError(
      'conflict',
      `The target has records in ${full.map(({ name }) => name).join(', ')}.`,
      {
        remedy: 'Use an empty database, or replace all records of this one with --force.',
      },
    );
  }

  async #beats(): Promise<Map<string, { beats: number; url: string }>> {
    const rows = await this.#connection.run<{ id: string; beats: number; url: string }>({
      name: 'copy-beats',
      text: 'SELECT id, beats, url FROM replicas',
    });
    return new Map(rows.map(({ id, ...row }) => [id, row]));
  }

  async #one<R extends Record<string, unknown>>(text: string): Promise<R> {
    const [row] = await this.#connection.run<R>({ name: 'copy-one', text }, LONG_MS);
    if (!row) throw new ServiceError('conflict', 'The database lacks a row that every database has.');
    return row;
  }
}

/** Every table of the schema is in one of these lists. */
export const KNOWN_TABLES: readonly string[] = [
  ...COPIED_TABLES,
  ...Object.keys(LEFT_OUT),
  ...OF_RUNNING_SERVERS,
  ...OF_THE_SCHEMA,
];

const isLocked = ({ sqlState }: StatementFailure) => sqlState === '55P03';

const inUse = (who: string) =>
  new ServiceError('conflict', `The PostgreSQL database is in use ${who}.`, {
    remedy: 'Stop every server of that database, then try again.',
  });

/** The refusal of a database whose rows this program would have to migrate first. */
export function otherVersion(found: number, known: number): ServiceError {
  if (found === 0)
    return new ServiceError('conflict', 'The database has no tables of this service.', {
      remedy: 'Name the database that the service uses.',
    });
  return new ServiceError(
    'conflict',
    `The database has schema version ${found}; this program copies version ${known}.`,
    {
      remedy:
        found < known
          ? 'Start this version of the service on the database once, which migrates it. Then stop it, and copy.'
          : 'Copy with the program version that the database was migrated by.',
    },
  );
}
