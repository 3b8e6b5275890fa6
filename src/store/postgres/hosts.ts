// Finds the primary among the hosts of the URL. Its role moves during a failover, so every new connection is checked, and
// a connection that turned read-only leads to another search.
import type { DatabaseAddress, DatabaseHost } from '../../domain/database-address.ts';
import { Connection, type DialOptions } from './connection.ts';
import { type StatementFailure, searchFailure } from './failures.ts';

export class Hosts {
  readonly #options: DialOptions;
  /** The host that was primary last. */
  #primary: DatabaseHost | undefined;
  #search: Promise<DatabaseHost> | undefined;

  constructor(options: DialOptions) {
    this.#options = options;
  }

  get address(): DatabaseAddress {
    return this.#options.address;
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
    const failed: { host: DatabaseHost; failure: StatementFailure }[] = [];
    for (const host of this.#options.address.hosts) {
      try {
        const connection = await Connection.dial(host, this.#options);
        await connection.end();
        this.#primary = host;
        return host;
      } catch (error) {
        failed.push({ host, failure: error as StatementFailure });
      }
    }
    throw searchFailure(failed);
  }
}
