// One connection to one host. It runs one statement at a time, each with a deadline. A connection on which anything but
// an answer of the server happened is closed: `pg` would give out a client that waits for an answer that never comes.
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import pg from 'pg';
import type { DatabaseAddress, DatabaseHost } from '../../domain/database-address.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';
import { CopyIn } from './copy-in.ts';
import {
  dialFailure,
  disconnected,
  NotPrimary,
  type StatementFailure,
  statementFailure,
} from './failures.ts';
import { decodeText, type EncodedJson, encodeText } from './text.ts';

/** The server cancels a statement after this time; a little later the connection is closed. */
export const STATEMENT_MS = 5000;
const LOCK_MS = 2000;
/** The server's own answer to a slow statement is awaited for so long. */
export const GRACE_MS = 500;
/** For connecting, authenticating and setting up. */
export const DIAL_MS = 1000;
const KEEP_ALIVE_MS = 15_000;
/** The server takes each batch of a COPY, and answers after the last one, within this time. */
const COPY_STALL_MS = 60_000;

export type Value = string | number | boolean | null | readonly string[] | EncodedJson;
export type Row = Record<string, unknown>;

export interface Statement {
  /** Prepared under this name once per connection, which a text of its own must have. */
  name: string;
  text: string;
  values?: readonly Value[];
}

export interface DialOptions {
  address: DatabaseAddress;
  clock: Clock;
  /** False behind poolers that do not keep prepared statements. */
  prepare: boolean;
}

/**
 * Sent after connecting: poolers refuse parameters of the start-up message that they do not know. A role may have others by itself,
 * also ones that round numbers.
 */
const SETTINGS = `SET statement_timeout = ${STATEMENT_MS}; SET lock_timeout = ${LOCK_MS};
   SET idle_in_transaction_session_timeout = ${STATEMENT_MS}; SET default_transaction_isolation = 'read committed';
   SET extra_float_digits = 1; SET application_name = 'svc';
   SELECT pg_is_in_recovery() AS is_standby, current_setting('default_transaction_read_only') = 'on' AS is_read_only`;

export class Connection {
  readonly host: DatabaseHost;
  /** Calls the listener once, when the connection is closed from either side. */
  onClosed: () => void = () => {};
  /** Calls the listener for each notification of a channel that the session listens to. */
  onNotification: (payload: string) => void = () => {};
  readonly #client: PlainClient;
  readonly #socket: Socket;
  readonly #options: DialOptions;
  #isOpen = true;

  private constructor(host: DatabaseHost, options: DialOptions) {
    this.host = host;
    this.#options = options;
    this.#socket = new Socket();
    this.#client = new PlainClient(clientConfig(host, options.address, this.#socket));
    // Without a listener an error between two statements would end the process.
    this.#client.on('error', () => this.destroy());
    this.#client.on('end', () => this.destroy());
    this.#client.on('notification', ({ payload = '' }) => this.onNotification(decodeText(payload)));
  }

  /** Connects and sets up the session. Rejects with a StatementFailure, also if the host is not a writable primary. */
  static async dial(host: DatabaseHost, options: DialOptions): Promise<Connection> {
    let connection: Connection | undefined;
    try {
      connection = new Connection(host, options);
      const opened = connection.#open();
      await orAfter(options.clock, DIAL_MS, opened, () => {
        throw new Error(`The host did not answer within ${DIAL_MS} ms.`);
      });
      return connection;
    } catch (error) {
      connection?.destroy();
      throw dialFailure(error);
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Rejects with a StatementFailure. `ms` also needs a statement_timeout that allows it. */
  async run<R = Row>({ name, text, values = [] }: Statement, ms = STATEMENT_MS + GRACE_MS): Promise<R[]> {
    if (!this.#isOpen) throw disconnected();
    const query = {
      text,
      values: values.map(encoded),
      ...(this.#options.prepare && { name }),
    };
    try {
      const answer = this.#client.query(query);
      const result = await orAfter(this.#options.clock, ms, answer, () => {
        throw new Error('The server did not answer in time.');
      });
      return result.rows as R[];
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Runs statements without parameters, as one transaction unless they say otherwise. */
  async script(text: string, ms = STATEMENT_MS + GRACE_MS): Promise<void> {
    if (!this.#isOpen) throw disconnected();
    try {
      await orAfter(this.#options.clock, ms, this.#client.query(text), () => {
        throw new Error('The server did not answer in time.');
      });
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Sends `batches` to a COPY … FROM STDIN. Rejects with a StatementFailure, or with the error of `batches`. */
  async copyIn(text: string, batches: AsyncIterable<Buffer>): Promise<void> {
    if (!this.#isOpen) throw disconnected();
    const { clock } = this.#options;
    let movedAt = clock.monotonic();
    const copy = new CopyIn(
      text,
      noted(batches, () => (movedAt = clock.monotonic())),
    );
    try {
      this.#client.query(copy as unknown as pg.Submittable);
      while (
        !(await orAfter(
          clock,
          COPY_STALL_MS,
          copy.done.then(() => true),
          () => false,
        ))
      )
        if (clock.monotonic() - movedAt >= COPY_STALL_MS)
          throw new Error('The server did not answer in time.');
    } catch (error) {
      if (error !== undefined && error === copy.refusal) throw error;
      throw this.#failed(error);
    }
  }

  /** Says goodbye to the server, for at most the time of a dial. */
  async end(): Promise<void> {
    if (!this.#isOpen) return;
    await orAfter(this.#options.clock, DIAL_MS, this.#client.end(), () => undefined).catch(() => undefined);
    this.destroy();
  }

  /** Closes the socket at once. Idempotent. */
  destroy(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket.destroy();
    this.onClosed();
  }

  async #open(): Promise<void> {
    await this.#client.connect();
    const answers: unknown = await this.#client.query(SETTINGS);
    const last = (answers as pg.QueryResult<{ is_standby: boolean; is_read_only: boolean }>[]).at(-1);
    const { is_standby = true, is_read_only = true } = last?.rows[0] ?? {};
    if (is_standby) throw new NotPrimary('The host is a standby.');
    if (is_read_only) throw new NotPrimary('The host is read-only.');
  }

  #failed(error: unknown): StatementFailure {
    const failure = statementFailure(error);
    if (failure.outcome === 'unknown') this.destroy();
    return failure;
  }
}

async function* noted(batches: AsyncIterable<Buffer>, onBatch: () => void): AsyncGenerator<Buffer> {
  for await (const batch of batches) {
    onBatch();
    yield batch;
  }
  onBatch();
}

/** `pg` adds parameters of the environment to the start-up message, such as PGOPTIONS. */
class PlainClient extends pg.Client {
  getStartupConf(): { user: string | undefined; database: string | undefined } {
    return { user: this.user, database: this.database };
  }
}

function clientConfig(
  { host, port }: DatabaseHost,
  address: DatabaseAddress,
  socket: Socket,
): pg.ClientConfig {
  return {
    host,
    port,
    user: address.user,
    password: address.password,
    database: address.database,
    ssl: tlsOptions(address),
    stream: () => socket,
    connectionTimeoutMillis: DIAL_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: { getTypeParser },
  };
}

function tlsOptions({ tls, authorityFile }: DatabaseAddress): pg.ClientConfig['ssl'] {
  if (tls === 'disable') return false;
  if (tls === 'require') return { rejectUnauthorized: false };
  return {
    rejectUnauthorized: true,
    ...(authorityFile !== undefined && { ca: readAuthority(authorityFile) }),
  };
}

/** Read for each connection, so that a renewed file needs no restart. */
function readAuthority(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ServiceError('unavailable', 'The file of sslrootcert cannot be read.', {
      cause,
      remedy: 'Check the path in database.url and the rights of the file.',
    });
  }
}

function encoded(value: Value): unknown {
  if (typeof value === 'string') return encodeText(value);
  if (typeof value !== 'object' || value === null) return value;
  return 'json' in value ? value.json : value.map(encodeText);
}

/** Object ids of pg_type. Integers of this schema are below 2^53. */
const BOOLEAN = 16;
const NUMBERS = [20, 21, 23, 26, 700, 701, 1700];

const getTypeParser = ((oid: number) => {
  if (oid === BOOLEAN) return (text: string) => text === 't';
  return NUMBERS.includes(oid) ? Number : decodeText;
}) as unknown as NonNullable<pg.ClientConfig['types']>['getTypeParser'];
