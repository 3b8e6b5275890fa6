// Opens the store that the configuration names: a file, or a PostgreSQL database.
import type { Clock, Ids, Logger, Random } from '../domain/ports.ts';
import type { Config } from '../schema/config.ts';
import type { SqliteStore } from '../store/sqlite/open.ts';
import { storeProgram } from './store-program.ts';

export interface OpenStoreOptions {
  database: Config['database'];
  clock: Clock;
  random: Random;
  ids: Ids;
  logger: Logger;
  /** The version of the program. */
  version: string;
  packageRoot: string;
}

/** A store, with what only a server needs of it. */
export type ServedStore = SqliteStore;

/** Throws as `openSqliteStore` or `openPostgresStore` does. Each is loaded only where it is used. */
export async function openStore(options: OpenStoreOptions): Promise<ServedStore> {
  const { database, version, packageRoot } = options;
  if (database.url === undefined) {
    const { openSqliteStore } = await import('../store/sqlite/open.ts');
    return openSqliteStore({ ...options, ...database, thread: storeProgram(packageRoot) });
  }
  const { openPostgresStore } = await import('../store/postgres/open.ts');
  const { url, pool, prepare, listen, require_sync_standby: requireSyncStandby } = database;
  const store = await openPostgresStore({
    ...options,
    url,
    pool,
    prepare,
    listen,
    requireSyncStandby,
    program: version,
  });
  // Its connections come back by themselves, and any number of servers may use it.
  return { ...store, announce: () => {}, lost: new Promise<Error>(() => {}) };
}
