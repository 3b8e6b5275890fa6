// The PostgreSQL store keeps the contract, each test in a database with the rows of a new one: directly, and behind a network
// that loses the answers of first attempts of writes. The database of the latter sorts texts as people do, not by bytes.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { quickClock } from '../support/fakes/quick-clock.ts';
import {
  administer,
  createDatabase,
  type PostgresServer,
  restorable,
  sharedPostgres,
  urlOf,
} from '../support/hosts/postgres.ts';
import { describeWith } from '../support/requires.ts';
import { tcpProxy } from '../support/scripted/tcp-proxy.ts';
import { storeContract } from './store.suite.ts';

const options = (url: string) => ({
  ...{
    ...fakeDeps(),
    clock: quickClock(),
    program: '0.0.0-test',
    pool: 10,
    prepare: true,
    requireSyncStandby: false,
  },
  url,
});
/** In one test: some write thousands of rows, one by one. */
const MOST_LOST = 60;
/** Pool mode needs the hosts of one server. */
const WITHOUT = { pool: false, shared: true };

describeWith(['postgres'], 'over PostgreSQL', () => {
  let server: PostgresServer;
  let database: string;
  let sorting: string;
  let restore: () => Promise<void>;
  let restoreSorting: () => Promise<void>;
  const filled = async (name: string) => {
    const store = await openPostgresStore(options(urlOf(name, server.port)));
    await store.close();
    return (await restorable(server, name)).restore;
  };
  beforeAll(async () => {
    server = await sharedPostgres();
    database = await createDatabase(server);
    restore = await filled(database);
    sorting = `${database}_sorting`;
    await administer(
      server,
      `CREATE DATABASE ${sorting} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`,
    );
    restoreSorting = await filled(sorting);
  });
  afterAll(async () => {
    await administer(server, `DROP DATABASE ${database} WITH (FORCE)`);
    await administer(server, `DROP DATABASE ${sorting} WITH (FORCE)`);
  });

  it('sorts as people do where it is said to', async () => {
    const rows = await administer<{ a: boolean }>(server, "SELECT 'a' < 'B' AS a", sorting);
    expect([rows, await administer(server, "SELECT 'a' < 'B' AS a", database)]).toEqual([
      [{ a: true }],
      [{ a: false }],
    ]);
  });

  storeContract(
    'postgres',
    async () => {
      await restore();
      return openPostgresStore(options(urlOf(database, server.port)));
    },
    WITHOUT,
  );

  let lost = 0;
  storeContract(
    'postgres with lost answers',
    async () => {
      await restoreSorting();
      const proxy = await tcpProxy(() => server.port);
      const store = await openPostgresStore(options(urlOf(sorting, proxy.port)));
      proxy.losesAnswerOf = (request) => request.includes('write-') && proxy.lost < MOST_LOST;
      const { close } = store;
      return Object.assign(store, {
        close: () => {
          lost += proxy.lost;
          return close();
        },
      });
    },
    WITHOUT,
  );
  afterAll(() => {
    expect(lost).toBeGreaterThan(0);
  });
});
