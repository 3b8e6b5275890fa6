// What the rows of workers are measured in: a server and two workers on this machine, one of which is called over TLS.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { concurrently } from '../src/cli/batch.ts';
import type { Client } from '../src/client/client.ts';
import { cleanEnv } from './clean-env.ts';
import { INSPECTED } from './live-heap.ts';
import type { InspectedProcess } from './memory-use.ts';
import { type BenchServer, endSandboxes, knownTo, withServer } from './server.ts';

/** `tls` is called over TLS. */
export type WorkerName = 'plain' | 'tls';

const START_MS = 30_000;
export const RUNNER = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_DEFAULTS_MAX_SANDBOXES: '0' };
export const SECRET = { SVC_AUTH_WORKER_TOKEN: 'the secret of the workers of a bench' };

export interface WorkerWorld extends BenchServer {
  /**
   * Starts sandboxes on the server itself, or on a worker that this starts first; their ids. They live until `work` ends.
   * Each worker is used once, since the ones before it drain.
   */
  spawn(on: WorkerName | 'local', count: number): Promise<string[]>;
  /** The process of a worker that was started. */
  workerPid(name: WorkerName): number;
}

/** Everything is in `home`. Sandboxes have ended when this resolves or rejects. */
export function withWorkers<T>(
  root: string,
  home: string,
  work: (world: WorkerWorld) => Promise<T>,
  extra: Record<string, string> = {},
): Promise<T> {
  const tls = certificate(home);
  const trusts = { SVC_WORKER_TLS_CA_FILE: tls.cert };
  const own = { SVC_WORKER_TLS_CERT_FILE: tls.cert, SVC_WORKER_TLS_KEY_FILE: tls.key };
  return withServer(root, { home, env: { ...RUNNER, ...SECRET, ...trusts, ...extra } }, async (server) => {
    const { client } = server;
    const children = new Map<WorkerName, ChildProcess>();
    const spawn: WorkerWorld['spawn'] = async (on, count) => {
      if (on !== 'local') {
        for (const each of ['local', ...children.keys()]) await client.workers.drain(each);
        children.set(on, startWorker(root, server, on, { ...(on === 'tls' && own), ...extra }));
        await registered(client, on);
      }
      return spawnOn(client, on, count);
    };
    try {
      return await work({ ...server, spawn, workerPid: (name) => children.get(name)?.pid ?? 0 });
    } finally {
      // A worker that has ended can no longer end its sandboxes.
      await endSandboxes(client);
      await Promise.all([...children.values()].map(stopWorker));
    }
  });
}

/** As `withWorkers`, where the server and the worker of a name collect their garbage on request. */
export function withInspectedWorkers<T>(
  root: string,
  home: string,
  work: (world: WorkerWorld, processes: (name: WorkerName) => InspectedProcess[]) => Promise<T>,
): Promise<T> {
  const inspect = { NODE_OPTIONS: INSPECTED };
  return withWorkers(
    root,
    home,
    (world) =>
      work(world, (name) => [
        { pid: world.pid, log: join(home, 'log') },
        { pid: world.workerPid(name), log: join(home, name, 'log') },
      ]),
    inspect,
  );
}

/** An elliptic curve, as new certificates have. */
function certificate(home: string): { cert: string; key: string } {
  const pair = { cert: join(home, 'worker.pem'), key: join(home, 'worker.key') };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc', '-keyout', pair.key];
  const names = ['-subj', '/CN=worker', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...names, ...key, '-out', pair.cert], {
    stdio: 'ignore',
  });
  return pair;
}

/** A worker in its own folder below the server's. `extra`: SVC_ variables. */
export function startWorker(
  root: string,
  { home, address }: Pick<BenchServer, 'home' | 'address'>,
  name: WorkerName,
  extra: Record<string, string>,
): ChildProcess {
  const own = join(home, name);
  mkdirSync(own);
  const path = process.env.PATH ?? '/usr/bin:/bin';
  const env = knownTo(root, { PATH: path, ...cleanEnv(own), ...RUNNER, ...SECRET, ...extra });
  const args = ['worker', '--id', name, '--control-plane', address, '--listen', '127.0.0.1:0'];
  const log = openSync(join(own, 'log'), 'a');
  const child = spawn(process.execPath, [join(root, 'bin/svc.js'), ...args], {
    env,
    cwd: own,
    detached: true,
    stdio: ['ignore', 'ignore', log],
  });
  closeSync(log);
  return child;
}

export async function registered(client: Client, name: WorkerName): Promise<void> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    const known = await client.workers.list();
    if (known.some(({ id, rpc_url }) => id === name && rpc_url)) return;
    if (performance.now() > deadline) throw new Error(`worker ${name} did not register`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export async function spawnOn(client: Client, on: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  await concurrently(Array.from({ length: count }), async () => {
    const { id, worker_id } = await client.spawn({ ttl: '1h', memory_mb: 64 });
    if (worker_id !== on) throw new Error(`the sandbox is on ${worker_id}`);
    ids.push(id);
  });
  return ids;
}

export async function stopWorker(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}
