// Finds the primary among the hosts of the URL. Its role moves during a failover, so every new connection is checked, and
// a connection that turned read-only leads to another search.
import type { DatabaseHost } from './address.ts';
import { Connection, type DialOptions } from './connection.ts';
import { dialFailure, type StatementFailure } from './failures.ts';

export class Hosts {
  readonly #options: DialOptions;
  /** The host that was primary last. */
  #primary: DatabaseHost | undefined;
  #search: Promise<DatabaseHost> | undefined;

  constructor(options: DialOptions) {
    this.#options = options;
  }

  /**
   * Opens a connection to the primary. All callers share one search, which asks the hosts in turn, each for at most the
   * time of a dial. Rejects with a StatementFailure.
   */
  async open(): Promise<Connection> {
    const known = this.#primary;
    if (known) {
      const connection = await Connection.dial(known, this.#options).catch(() => undefined);
      if (connection) return connection;
      if (this.#primary === known) this.#primary = undefined;
    }
    const search = this.#search ?? this.#find();
    this.#search = search;
    try {
      return await Connection.dial(await search, this.#options);
    } finally {
      if (this.#search === search) this.#search = undefined;
    }
  }

  async #find(): Promise<DatabaseHost> {
    const failures: StatementFailure[] = [];
    for (const host of this.#options.address.hosts) {
      try {
        const connection = await Connection.dial(host, this.#options);
        await connection.end();
        this.#primary = host;
        return host;
      } catch (error) {
        failures.push(error as StatementFailure);
      }
    }
    throw noPrimary(failures);
  }
}

/** The failure of a single host says more than that no host is primary. */
function noPrimary(failures: readonly StatementFailure[]): StatementFailure {
  const [only, ...others] = failures;
  const denied = failures.find(({ error }) => error.retryAfterMs === undefined);
  if (denied) return denied;
  if (only && others.length === 0) return only;
  return dialFailure(
    Object.assign(new Error('No host of database.url is a writable primary.'), {
      cause: new AggregateError(failures.map(({ error }) => error.cause)),
    }),
  );
}
