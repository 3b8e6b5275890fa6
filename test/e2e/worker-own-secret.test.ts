// `svc worker` beside `svc serve` on one machine, with neither keys nor a configuration: the worker makes its secret itself.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { Client } from '../../src/client/client.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { freePort } from '../support/free-port.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const home = makeHome();
const secretFile = join(home, 'worker-near.secret');
let port: number;
let server: TestServer;
let client: Client;
let worker: RunningWorker;
let sandbox: Sandbox;
/** What others may read. */
const outputs: string[] = [];

interface RunningWorker {
  child: ChildProcess;
  log(): string;
}

const serve = async () => {
  server = await startServer({ home, env: { SVC_SERVER_PORT: String(port), SVC_LOGGING_LEVEL: 'debug' } });
  client = new Client({ server: server.url });
};

/** `svc worker` with nothing but its id. */
function startWorker(env: Record<string, string> = {}): RunningWorker {
  const child = spawn(process.execPath, [cli, 'worker', '--id', 'near'], {
    env: { PATH: process.env.PATH, ...server.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  return { child, log: () => log };
}

async function end({ child, log }: RunningWorker, signal: NodeJS.Signals): Promise<void> {
  const exit = new Promise((resolve) => child.once('exit', resolve));
  if (child.exitCode === null && child.kill(signal)) await exit;
  outputs.push(log());
}

const answers = () =>
  until(
    'its sandbox answers',
    async () =>
      (await client.exec(sandbox.id, { command: 'echo up' }).catch(() => undefined))?.stdout === 'up\n',
    60_000,
  );

describeWith(['bwrap'], 'a worker without a credential on the machine of its server', () => {
  beforeAll(async () => {
    port = await freePort();
    await serve();
    worker = startWorker();
    await until('the worker is heard', async () =>
      (await client.workers.list()).some(({ id, rpc_url }) => id === 'near' && rpc_url),
    );
    await client.workers.drain('local');
    sandbox = await client.spawn({ provider: 'userspace' });
  });
  afterAll(async () => {
    await client.destroy(sandbox.id).catch(() => undefined);
    await end(worker, 'SIGTERM');
    await server.stop();
    removeHome(home);
  });

  it('runs sandboxes, and says where it listens', async () => {
    expect(sandbox.worker_id).toBe('near');
    await answers();
    const { rpc_url = '' } = await client.workers.get('near');
    expect(rpc_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(worker.log()).toContain(
      `Worker near accepts calls at ${rpc_url} and reports to http://127.0.0.1:${port}.`,
    );
    expect(worker.log()).not.toContain('TLS');
  });

  it('keeps its secret over a restart, in a file of its own', async () => {
    const secret = readFileSync(secretFile, 'utf8');
    expect(secret).toMatch(/^svc-worker-own-v1\.[\w-]{43}\n$/);
    expect(statSync(secretFile).mode & 0o777).toBe(0o600);
    await end(worker, 'SIGKILL');
    worker = startWorker();
    await answers();
    expect(readFileSync(secretFile, 'utf8')).toBe(secret);
  });

  it('is accepted again after the server was killed', async () => {
    await server.kill();
    outputs.push(server.log());
    await serve();
    await answers();
  });

  it('cannot be replaced by another process', async () => {
    const twin = startWorker({ SVC_DATABASE_PATH: join(makeOther(), 'svc.db') });
    await until('it is refused', () =>
      twin.log().includes('A worker with this id and another secret is running'),
    );
    await end(twin, 'SIGTERM');
    await answers();
    const { rpc_url } = await client.workers.get('near');
    expect(worker.log()).toContain(`accepts calls at ${rpc_url} `);
  });

  it.each([
    ['a server on another machine', ['--control-plane', 'http://192.0.2.1:7423']],
    ['calls from other machines', ['--listen', '0.0.0.0:0', '--advertise', 'http://192.0.2.1:7424']],
  ])('does not start for %s', async (_, flags) => {
    const { code, stderr } = await runCli(['worker', '--id', 'far', ...flags], server.env);
    expect([code, stderr]).toEqual([2, expect.stringContaining('This worker has no credential.')]);
  });

  it.each<[string, (path: string) => void]>([
    ['others can read', (path) => chmodSync(path, 0o644)],
    ['holds something else', (path) => writeFileSync(path, 'secret\n')],
  ])('does not start with a file that %s', async (_, spoil) => {
    const path = join(home, 'worker-spoilt.secret');
    writeFileSync(path, readFileSync(secretFile), { mode: 0o600 });
    spoil(path);
    const { code, stderr } = await runCli(['worker', '--id', 'spoilt', '--once'], server.env);
    expect([code, stderr]).toEqual([8, expect.stringContaining('cannot keep its secret')]);
    outputs.push(stderr);
  });

  it('does not show its secret', async () => {
    for (const path of [
      '/health',
      '/diagnostics',
      '/admin/diagnostics?logs=true',
      '/workers',
      '/admin/audit',
    ])
      outputs.push(await (await fetch(`${server.url}/api/v1${path}`)).text());
    const bundle = join(home, 'bundle.json');
    const env = { ...server.env, SVC_SERVER: server.url };
    const made = await runCli(['support', 'bundle', bundle, '--include-server'], env);
    expect(made.code).toBe(0);
    const listed = await runCli(['worker', 'list', '--json'], env);
    expect(listed.stdout).toContain('near');
    outputs.push(made.stdout, readFileSync(bundle, 'utf8'), listed.stdout, server.log(), worker.log());
    const secret = readFileSync(secretFile, 'utf8').trim().split('.')[1] ?? '';
    expect(secret).toHaveLength(43);
    expect(outputs.filter((text) => text.includes(secret))).toEqual([]);
  });
});

function makeOther(): string {
  const other = makeHome();
  onTestFinished(() => removeHome(other));
  return other;
}
