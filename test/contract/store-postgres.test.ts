// The PostgreSQL store keeps the contract, each test in a database with the rows of a new one: directly, and behind a network
// that loses the answers of first attempts of writes.
import { afterAll, beforeAll, expect } from 'vitest';
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
  let restore: () => Promise<void>;
  beforeAll(async () => {
    server = await sharedPostgres();
    database = await createDatabase(server);
    const store = await openPostgresStore(options(urlOf(database, server.port)));
    await store.close();
    ({ restore } = await restorable(server, database));
  });
  afterAll(async () => {
    await administer(server, `DROP DATABASE ${database} WITH (FORCE)`);
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
      await restore();
      const proxy = await tcpProxy(() => server.port);
      const store = await openPostgresStore(options(urlOf(database, proxy.port)));
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
