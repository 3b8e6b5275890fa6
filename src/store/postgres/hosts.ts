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
   * Opens a connection to the primary. All callers share one search, which asks all hosts at once and so takes at most the
   * time of a dial, however many are silent. Rejects with a StatementFailure.
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

  /** Chooses the first of several primaries in the order of the URL, so that all processes find the same one. */
  async #find(): Promise<DatabaseHost> {
    const dials = this.#options.address.hosts.map((host) => ({ host, dial: this.#look(host) }));
    const failed: { host: DatabaseHost; failure: StatementFailure }[] = [];
    for (const { host, dial } of dials) {
      const failure = await dial;
      if (failure) failed.push({ host, failure });
      else {
        this.#primary = host;
        return host;
      }
    }
    throw searchFailure(failed);
  }

  /** Undefined: the host is a primary. Never rejects. */
  async #look(host: DatabaseHost): Promise<StatementFailure | undefined> {
    try {
      const connection = await Connection.dial(host, this.#options);
      void connection.end();
      return undefined;
    } catch (error) {
      return error as StatementFailure;
    }
  }
}
