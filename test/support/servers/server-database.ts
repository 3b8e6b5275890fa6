// The database of a test server in PostgreSQL: one for each folder, kept from start to start. It ends with the test run.
import { createDatabase, sharedPostgres, urlOf } from '../hosts/postgres.ts';

const databases = new Map<string, Promise<string>>();

/** The URL of the database of a folder; made for its first server. */
export function databaseUrl(home: string): Promise<string> {
  const url = databases.get(home) ?? makeDatabase();
  databases.set(home, url);
  return url;
}

async function makeDatabase(): Promise<string> {
  const server = await sharedPostgres();
  return urlOf(await createDatabase(server), server.port);
}

const LOCAL_KIND = /^SVC_PROVIDERS_(?:CONTAINER|USERSPACE|MICROVM)_ENABLED$/;

/**
 * The environment of a server over PostgreSQL, made from that of a server over a file: only its worker has local kinds. A
 * URL of the test's own stays.
 */
export function overPostgres(env: Record<string, string>, url: string): Record<string, string> {
  const { SVC_DATABASE_PATH: _, ...others } = env;
  const kept = Object.entries(others).filter(([name, value]) => !(LOCAL_KIND.test(name) && value === 'true'));
  return {
    SVC_DATABASE_URL: url,
    // The server of a test run has no standby.
    SVC_DATABASE_REQUIRE_SYNC_STANDBY: 'false',
    ...Object.fromEntries(kept),
  };
}
