// One `svc worker` process beside a server, on which all its sandboxes run. It belongs to the server's folder: it stays while
// servers of the folder come and go, and ends with the folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Client } from '../../../src/client/client.ts';
import { asServiceError } from '../../../src/domain/errors.ts';
import { endRuntimes } from '../checks/leftovers.ts';
import { freePort } from '../free-port.ts';
import { until } from '../until.ts';

const SECRET = { SVC_AUTH_WORKER_TOKEN: 'the secret of a worker beside, not to be shared' };

interface Beside {
  child: ChildProcess;
  /** Of the server, which keeps it from start to start. */
  port: number;
  instance?: string;
  log: string;
}

const workers = new Map<string, Beside>();

/** What a server needs to have a worker beside it: with a server that stays at its address, it finds it again. */
export async function withWorker(home: string): Promise<Record<string, string>> {
  const port = workers.get(home)?.port ?? (await freePort());
  return {
    ...SECRET,
    SVC_WORKER_ALLOW_LOOPBACK_RPC: 'true',
    SVC_WORKER_HEARTBEAT_INTERVAL: '1s',
    SVC_SERVER_PORT: String(port),
  };
}

/** Resolves when the server has heard of its worker and places sandboxes there alone; what the worker runs carries this name. */
export async function startWorkerBeside(
  program: string,
  server: { url: string; home: string; env: Record<string, string> },
): Promise<string> {
  const { url, home } = server;
  const beside = workers.get(home) ?? start(program, server);
  workers.set(home, beside);
  const since = Date.now();
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { ...keysOf(server.env), 'content-type': 'application/json' };
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return answer.json();
  };
  const known = (await call('GET', '/workers')) as { id: string }[];
  if (known.some(({ id }) => id === 'local'))
    await call('POST', '/admin/workers/local/drain', { drain: true });
  await until(
    'the worker is heard',
    async () => {
      if (beside.child.exitCode !== null) throw new Error(`the worker ended:\n${beside.log}`);
      const all = (await call('GET', '/workers')) as { rpc_url?: string; last_heartbeat: string }[];
      return all.some(({ rpc_url, last_heartbeat }) => rpc_url && Date.parse(last_heartbeat) > since);
    },
    60_000,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; its log ends:\n${beside.log.slice(-2000)}`);
  });
  beside.instance ??= instanceOf(join(home, 'worker', 'worker-beside.db'));
  return beside.instance;
}

/** The environment of a worker of this server, with its state in `folder`. A server over PostgreSQL shares its database with none. */
export function workerEnv(env: Record<string, string>, folder: string): Record<string, string> {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('SVC_DATABASE_'));
  mkdirSync(join(folder, 'run'), { recursive: true });
  return {
    ...Object.fromEntries(others),
    HOME: folder,
    XDG_RUNTIME_DIR: join(folder, 'run'),
    SVC_WORKER_STATE_DIR: folder,
  };
}

/** Makes the server place sandboxes on workers alone. Over PostgreSQL it does so anyway. */
export async function placeOnWorkers(client: Client): Promise<void> {
  await client.workers.drain('local').catch((error: unknown) => {
    if (asServiceError(error).code !== 'not_found') throw error;
  });
}

function start(
  program: string,
  { url, home, env }: { url: string; home: string; env: Record<string, string> },
): Beside {
  const folder = join(home, 'worker');
  const args = ['worker', '--id', 'beside', '--control-plane', url, '--listen', '127.0.0.1:0'];
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...workerEnv(env, folder), ...SECRET },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const beside: Beside = { child, port: Number(new URL(url).port), log: '' };
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (beside.log.length < 1_000_000) beside.log += text;
  });
  return beside;
}

/** The keys of an administrator, as the server was given them. */
function keysOf({ SVC_AUTH_ADMIN_API_KEY: admin, SVC_AUTH_API_KEY: key }: Record<string, string>) {
  return { ...(key && { 'x-api-key': key }), ...(admin && { 'x-admin-api-key': admin }) };
}

/** As run folders carry it. */
function instanceOf(journal: string): string {
  const db = new Sqlite(journal, { readonly: true });
  const id = String(db.prepare('SELECT id FROM instance').pluck().get());
  db.close();
  return id.replaceAll('-', '').slice(0, 12);
}

/** Ends the worker of a folder, and what it still runs. */
export function endWorkerBeside(home: string): void {
  const beside = workers.get(home);
  if (!beside) return;
  workers.delete(home);
  beside.child.kill('SIGKILL');
  if (beside.instance !== undefined) endRuntimes(beside.instance);
}
