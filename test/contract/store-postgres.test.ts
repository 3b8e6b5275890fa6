// The PostgreSQL store keeps the contract, each test in a database of its own: directly, and behind a network that loses the
// answers of first attempts of writes.
import { afterAll, beforeAll, expect } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { quickClock } from '../support/fakes/quick-clock.ts';
import {
  administer,
  type PostgresServer,
  sharedPostgres,
  temporaryDatabase,
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
  const template = `template_${process.pid}`;
  beforeAll(async () => {
    server = await sharedPostgres();
    await administer(server, `CREATE DATABASE ${template}`);
    const store = await openPostgresStore(options(urlOf(template, server.port)));
    await store.close();
  });
  afterAll(async () => {
    await administer(server, `DROP DATABASE ${template} WITH (FORCE)`);
  });

  storeContract(
    'postgres',
    async () => openPostgresStore(options(urlOf(await temporaryDatabase(server, template), server.port))),
    WITHOUT,
  );

  let lost = 0;
  storeContract(
    'postgres with lost answers',
    async () => {
      const database = await temporaryDatabase(server, template);
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
