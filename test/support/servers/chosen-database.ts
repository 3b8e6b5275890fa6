// Over which database test servers run: SVC_TEST_DATABASE.

/**
 * - `postgres`: the database is in the test run's PostgreSQL, and sandboxes run on a worker.
 * - `fleet`: the same with three servers behind HAProxy.
 */
export type TestDatabase = 'postgres' | 'fleet';

/** What SVC_TEST_DATABASE chooses for servers whose test does not say; undefined: one server with a database file. */
export function chosenDatabase(): TestDatabase | undefined {
  const chosen = process.env.SVC_TEST_DATABASE;
  return chosen === 'postgres' || chosen === 'fleet' ? chosen : undefined;
}
