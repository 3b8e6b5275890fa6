// P13 of the speed table: a list of 1,000 sandboxes over HTTP, against a bare server that makes JSON of the same records
// for each request.
import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Client } from '../src/client/client.ts';
import { withHome } from './folders.ts';
import type { Pair } from './row.ts';
import { withServer } from './server.ts';
import { medianOf } from './stats.ts';

const ROWS = 1000;
const GOES = 50;
const agent = new Agent({ keepAlive: true });

export interface ListBench {
  pair: Pair;
  close(): void;
}

/** Copies the one row of a stopped server's database: what is measured is the list, not the spawning of a thousand. */
export function fillDatabase(path: string): void {
  const db = new Sqlite(path);
  const columns = db
    .prepare<[], string>("SELECT name FROM pragma_table_info('sandboxes') WHERE name <> 'id'")
    .pluck()
    .all();
  const copy = db.prepare(
    `INSERT INTO sandboxes (id, ${columns}) SELECT ?, ${columns} FROM sandboxes ORDER BY rowid LIMIT 1`,
  );
  db.transaction(() => {
    for (let n = 1; n < ROWS; n += 1) copy.run(`sb-${String(n).padStart(12, '0')}`);
  })();
  db.close();
}

/** Over a server whose database was filled so. */
async function listBench({ address, client }: { address: string; client: Client }): Promise<ListBench> {
  const { sandboxes } = await client.page({ limit: ROWS, include_ended: true });
  if (sandboxes.length < ROWS) throw new Error(`the list needs ${ROWS} sandboxes`);
  const server = createServer((_, response) => {
    const body = JSON.stringify(sandboxes);
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bare = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    pair: {
      id: 'P13',
      name: `list of ${ROWS} sandboxes`,
      target: 1.5,
      pairs: 100,
      ours: () => timed(`${address}/api/v1/sandboxes?include_ended=true&limit=${ROWS}`),
      baseline: () => timed(bare),
      limit: () => partsOf(address),
    },
    close: () => void server.close(),
  };
}

async function partsOf(address: string): Promise<string> {
  const one = await medianOf(GOES, () => timed(`${address}/api/v1/sandboxes?include_ended=true&limit=1`));
  return `a list with one sandbox takes ${one.toFixed(1)} ms of it; each further one costs a read of its id from the database and a copy of its text. Three designs are kept, without each of which the list takes 1.6 to 2.0 times the processor time: answers that skip the framework's serializer, text kept for each answer, and views kept for each row.`;
}

function timed(url: string): Promise<number> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume();
      response.once('end', () => resolve(performance.now() - began));
    }).once('error', reject);
  });
}

/** Measures over a server whose database holds many sandboxes. */
export function withList(root: string, measure: (pair: Pair) => Promise<void>): Promise<void> {
  return withHome(async (home) => {
    const env = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
    await withServer(root, { home, env }, async ({ client }) => {
      const { id } = await client.spawn({ metadata: { purpose: 'bench' } });
      await client.destroy(id);
    });
    fillDatabase(join(home, 'svc.db'));
    await withServer(root, { home, env }, async (server) => {
      const { pair, close } = await listBench(server);
      await measure(pair).finally(close);
    });
  });
}
