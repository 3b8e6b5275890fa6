// `npm run bench`: measures the speed table against a server of its own and writes the results.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '../http/client.ts';
import { eventBench } from './events.ts';
import { fillDatabase, listBench } from './list.ts';
import type { Runner } from './raw-runner.ts';
import { hostFacts, markdown, type Results, textTable } from './report.ts';
import { measurePair, type Pair, type Row } from './row.ts';
import { userspacePairs } from './userspace.ts';

/** Measures all rows with the package at `root`; true when every bar is met. */
export async function bench(root: string): Promise<boolean> {
  const results: Results = { host: hostFacts(), started_at: new Date().toISOString(), rows: [] };
  for (const runner of ['bwrap', 'unshare'] as const) results.rows.push(...(await benchRunner(root, runner)));
  results.rows.push(await benchList(root), await benchEvents(root));
  process.stdout.write(`${textTable(results.rows)}\n`);
  mkdirSync(join(root, 'bench'), { recursive: true });
  writeFileSync(join(root, 'bench/results.json'), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(root, 'docs/performance.md'), markdown(results));
  return results.rows.every((row) => row.pass);
}

async function benchList(root: string): Promise<Row> {
  const home = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  try {
    await withServer(root, { home, runner: 'unshare' }, async (_, client) => {
      const { id } = await client.spawn({ metadata: { purpose: 'bench' } });
      await client.destroy(id);
    });
    fillDatabase(join(home, 'svc.db'));
    return await withServer(root, { home, runner: 'unshare' }, async (address, client) => {
      const { pair, close } = await listBench(address, client);
      return measured(pair).finally(close);
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function benchEvents(root: string): Promise<Row> {
  const home = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  try {
    return await withServer(root, { home, runner: 'unshare' }, async (address) => {
      const { pair, close } = await eventBench(address);
      return measured(pair).finally(close);
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function measured(pair: Pair): Promise<Row> {
  process.stderr.write(`${pair.name} …\n`);
  return measurePair(pair, seeded(7423));
}

/** Runs `work` against a server of its own. */
async function withServer<T>(
  root: string,
  { home, runner }: { home: string; runner: Runner },
  work: (address: string, client: Client) => Promise<T>,
): Promise<T> {
  const { child, address } = await serve(root, home, runner);
  try {
    return await work(address, new Client({ server: address }));
  } finally {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
  }
}

async function benchRunner(root: string, runner: Runner): Promise<Row[]> {
  const home = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  try {
    return await withServer(root, { home, runner }, async (_, client) => {
      const live = await client.spawn({ ttl: '1h' });
      const rows: Row[] = [];
      for (const pair of userspacePairs(runner, client, live.id)) rows.push(await measured(pair));
      await client.destroy(live.id);
      return rows;
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function serve(
  root: string,
  home: string,
  runner: Runner,
): Promise<{ child: ChildProcess; address: string }> {
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    SVC_SERVER_PORT: '0',
    SVC_DATABASE_PATH: join(home, 'svc.db'),
    SVC_PROVIDERS_DEFAULT: 'userspace',
    SVC_PROVIDERS_CONTAINER_ENABLED: 'false',
    SVC_PROVIDERS_USERSPACE_RUNNER: runner,
    SVC_PROVIDERS_USERSPACE_WORKSPACE_BASE: join(home, 'workspaces'),
  };
  const child = spawn(process.execPath, [join(root, 'bin/svc.js'), 'serve'], {
    env,
    cwd: home,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('message', (message: { address: string }) => resolve({ child, address: message.address }));
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
}

/** A small generator with a fixed seed (mulberry32), so that intervals do not change between prints. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
