// P33 and P40 of the speed table: servers over PostgreSQL with a synchronous standby. Database, servers, worker and clients
// share this machine, so that only what they do is measured, not a network.
import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Store } from '../src/store/store.ts';
import { nothing, withPlaneOver } from './control-plane.ts';
import { withHome } from './folders.ts';
import { GETS_ENV, GETS_KEY, REQUESTS, sandboxAskers } from './get-sandbox.ts';
import { type Need, programs } from './needs.ts';
import { openStoreOver, type PostgresPair, postgres, withPostgres } from './postgres.ts';
import { usedMs } from './processor-time.ts';
import { Crowd, handoffs, QUEUEING } from './queued-spawns.ts';
import type { Pair } from './row.ts';
import { type BenchServer, endSandboxes, withServer } from './server.ts';
import { clocked, medianOf } from './stats.ts';
import { RUNNER, registered, SECRET, spawnOn, startWorker, stopWorker, withWorkers } from './worker-world.ts';

export const REPLICA_ROWS = ['P33', 'P33-wall', 'P40-exec', 'P40-freed', 'P40-admissions'] as const;

export const replicaRowNeeds: Need = (root) => postgres(root) ?? programs('unshare', 'openssl')(root);

const PROCESSES = 3;
const ADMISSIONS = 300;
const COMMITS = 50;
const WAITING = 100;

export function withReplicaRows(root: string, measure: (pair: Pair) => Promise<void>): Promise<void> {
  return withHome((home) =>
    withPostgres(home, async (pair) => {
      await admissionRow(root, pair, measure);
      await freedRow(pair, measure);
      await execRow(root, pair, measure);
      await getRows(root, pair, measure);
    }),
  );
}

/** Three processes that admit at once, against one row that one client commits. */
async function admissionRow(
  root: string,
  { createDatabase }: PostgresPair,
  measure: (pair: Pair) => Promise<void>,
): Promise<void> {
  const url = await createDatabase();
  // The store refuses a database with tables of others.
  const client = new pg.Client(await createDatabase());
  client.on('error', () => {});
  await client.connect();
  await client.query('CREATE TABLE commits (row text)');
  const row = 'x'.repeat(400);
  const commit = () => clocked(() => client.query('INSERT INTO commits VALUES ($1)', [row]));
  const processes: ChildProcess[] = [];
  try {
    while (processes.length < PROCESSES) {
      const child = fork(join(root, 'dist/bench/admitting.js'), [url]);
      processes.push(child);
      await answerOf(child);
    }
    const admit = () =>
      Promise.all(
        processes.map((child) => {
          const done = answerOf(child);
          child.send(ADMISSIONS / PROCESSES);
          return done;
        }),
      );
    await measure({
      id: 'P40-admissions',
      name: `an admission of ${ADMISSIONS} by ${PROCESSES} processes of 8 callers with a cap for all, against the commit of a row`,
      // 0.8 admissions in the time of a commit.
      target: 1 / 0.8,
      pairs: 30,
      warmUps: 3,
      ours: async () => (await clocked(admit)) / ADMISSIONS,
      baseline: () => medianOf(COMMITS, commit),
    });
  } finally {
    for (const child of processes) if (child.connected) child.disconnect();
    await client.end();
  }
}

function answerOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a process that admits ended with ${code}`));
    child.once('exit', ended);
    child.once('message', () => {
      child.off('exit', ended);
      resolve();
    });
  });
}

/** From the commit that frees capacity, on one of two control planes, to the start of the next spawn, on either. */
async function freedRow(
  { createDatabase }: PostgresPair,
  measure: (pair: Pair) => Promise<void>,
): Promise<void> {
  const url = await createDatabase();
  const { watched, next } = handoffs();
  const shared = { env: QUEUEING, watched, provider: nothing(watched) };
  await withHome((home) =>
    withStoreOver(url, (one) =>
      withStoreOver(url, (two) =>
        withPlaneOver(one, { ...shared, home }, (first) =>
          withPlaneOver(two, { ...shared, home }, async (second) => {
            await first.start();
            await second.start();
            const crowd = new Crowd(first, second);
            await crowd.wait(WAITING);
            await measure({
              id: 'P40-freed',
              name: `freed capacity to the next spawn's start over two servers, ${WAITING} waiting`,
              target: 25,
              pairs: 300,
              ours: () => next(crowd),
            });
          }),
        ),
      ),
    ),
  );
}

/** Both servers have a worker, on which the sandbox is. */
async function execRow(
  root: string,
  { createDatabase }: PostgresPair,
  measure: (pair: Pair) => Promise<void>,
): Promise<void> {
  const url = await createDatabase();
  const exec = ({ client }: BenchServer, id: string) =>
    clocked(() => client.exec(id, { command: 'echo ok' }));
  await withHome((home) =>
    withWorkers(root, home, async (local) => {
      const [beside = ''] = await local.spawn('plain', 1);
      await withHome((other) =>
        withFleet(root, { home: other, url, servers: 1 }, ([server], id) =>
          measure({
            id: 'P40-exec',
            name: 'exec in a running sandbox over PostgreSQL',
            target: 1,
            judged: 'difference',
            pairs: 300,
            ours: () => exec(server!, id),
            baseline: () => exec(local, beside),
          }),
        ),
      );
    }),
  );
}

/** Requests to two servers at once, against as many to one of them. */
async function getRows(
  root: string,
  { createDatabase }: PostgresPair,
  measure: (pair: Pair) => Promise<void>,
): Promise<void> {
  const url = await createDatabase();
  await withHome((home) =>
    withFleet(root, { home, url, servers: 2, env: GETS_ENV, apiKey: GETS_KEY }, async (servers, id) => {
      const askers = await Promise.all(servers.map(({ address }) => sandboxAskers(address, id)));
      const [alone] = askers;
      const both = () => Promise.all(askers.map((each) => each.ask(REQUESTS / askers.length)));
      const busy = async (work: () => Promise<unknown>) => {
        const used = () => servers.reduce((sum, { pid }) => sum + usedMs(pid), 0);
        const before = used();
        await work();
        return used() - before;
      };
      const rows = { pairs: 20, warmUps: 10 };
      try {
        await measure({
          ...rows,
          id: 'P33',
          name: `processor time of ${REQUESTS} requests for a sandbox to two servers, against one`,
          // 0.85 of twice the requests in a second of processor time.
          target: 1 / 0.85,
          ours: () => busy(both),
          baseline: () => busy(() => alone!.ask()),
        });
        await measure({
          ...rows,
          id: 'P33-wall',
          name: 'the same by the clock',
          target: 1,
          ours: () => clocked(both),
          baseline: () => clocked(() => alone!.ask()),
        });
      } finally {
        for (const each of askers) each.close();
      }
    }),
  );
}

interface FleetOptions {
  home: string;
  url: string;
  servers: number;
  env?: Record<string, string>;
  apiKey?: string;
}

/** So many servers over the database, a worker, and a sandbox on it. */
function withFleet<T>(
  root: string,
  { home, url, servers: count, env = {}, apiKey }: FleetOptions,
  work: (servers: BenchServer[], id: string) => Promise<T>,
): Promise<T> {
  const shared = {
    SVC_DATABASE_URL: url,
    SVC_PROVIDERS_DEFAULT: 'userspace',
    SVC_WORKER_ALLOW_LOOPBACK_RPC: 'true',
    ...SECRET,
    ...env,
  };
  const servers: BenchServer[] = [];
  const next = (): Promise<T> => {
    const own = join(home, `server-${servers.length}`);
    mkdirSync(own);
    return withServer(root, { home: own, env: shared, ...(apiKey && { apiKey }) }, async (server) => {
      servers.push(server);
      if (servers.length < count) return next();
      const worker = startWorker(root, { home, address: server.address }, 'plain', RUNNER);
      try {
        await registered(server.client, 'plain');
        const [id = ''] = await spawnOn(server.client, 'plain', 1);
        return await work(servers, id);
      } finally {
        // A worker that has ended can no longer end its sandboxes.
        await endSandboxes(server.client).finally(() => stopWorker(worker));
      }
    });
  };
  return next();
}

async function withStoreOver<T>(url: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStoreOver(url);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
