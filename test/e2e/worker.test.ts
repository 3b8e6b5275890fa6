// `svc worker` and its tokens as they are typed, against a real server.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Worker } from '../../src/schema/worker.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const KEY = { SVC_AUTH_WORKER_SIGNING_KEY: 'a signing key for an afternoon, no more' };
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ onWorker: false, env: KEY });
});
afterAll(async () => {
  await server.stop();
  removeHome(server.home);
});

const svc = (args: string[], input = '') => runCli(args, server.env, input);
const secretOf = async (id: string) => (await svc(['worker', 'token', 'create', id])).stdout.trim();
const once = (...more: string[]) =>
  svc(['worker', '--control-plane', `${server.url}/api/v1`, '--once', ...more]);
const worker = async (id: string) =>
  (await (await fetch(`${server.url}/api/v1/workers/${id}`)).json()) as Partial<Worker>;

describe('svc worker token', () => {
  it('prints the same secret each time, another for each worker', async () => {
    const [first, again, other] = await Promise.all(['w1', 'w1', 'w2'].map(secretOf));
    expect(first).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    const verdict = await svc(['worker', 'token', 'verify', '-', '--id', 'w2'], first);
    expect([verdict.code, verdict.stdout]).toEqual([3, expect.stringContaining('is not valid for worker')]);
  });

  it('makes a token that expires, prints it, and verifies it', async () => {
    const { stdout: token } = await svc(['worker', 'token', 'create', 'w1', '--signed', '5m']);
    const shown = await svc(['worker', 'token', 'inspect', '-', '--json'], token);
    expect(JSON.parse(shown.stdout)).toMatchObject({ worker_id: 'w1', aud: 'worker:control-plane' });
    expect((await svc(['worker', 'token', 'verify', '-'], token)).code).toBe(0);
    const elsewhere = await svc(['worker', 'token', 'verify', '-', '--audience', 'worker:rpc'], token);
    expect([elsewhere.code, elsewhere.stdout]).toEqual([3, expect.stringContaining('The token is for')]);
    expect((await svc(['worker', 'token', 'create', 'w1', '--signed', '16m'])).code).toBe(2);
    expect((await svc(['worker', 'token', 'inspect', 'nonsense'])).code).toBe(2);
  });
});

describe('svc worker --once', () => {
  it('sends one heartbeat, by the secret or by a signed token', async () => {
    const secret = await secretOf('w1');
    const heard = await runCli(['worker', '--id', 'w1', '--control-plane', server.url, '--once'], {
      SVC_AUTH_WORKER_TOKEN: secret,
      SVC_DATABASE_PATH: join(server.home, 'w1.db'),
    });
    expect([heard.code, heard.stdout, heard.stderr]).toEqual([
      0,
      'The control plane knows worker w1: online.\n',
      '',
    ]);
    const { stdout: token } = await svc(['worker', 'token', 'create', 'w3', '--signed', '1m']);
    expect((await once('--id', 'w3', '--worker-token', token.trim(), '--json')).stdout).toContain('"w3"');
    expect(await worker('w3')).toMatchObject({ status: 'online', stale: false });
  });

  it('reports why it failed, in words and by exit code', async () => {
    const refused = await once('--id', 'w2', '--worker-token', await secretOf('w1'));
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('do not match')]);
    const alone = await svc(['worker', '--once', '--control-plane', 'http://127.0.0.1:1']);
    expect(alone.code).toBe(8);
    expect((await svc(['worker', '--once'])).code).toBe(2);
    expect((await once('--id', 'local')).code).toBe(2);
    expect((await once('--heartbeat-interval', '10ms')).code).toBe(2);
    const far = ['worker', '--once', '--control-plane', 'http://192.0.2.1:7423', '--worker-token', 't'];
    expect((await svc([...far, '--listen', '0.0.0.0:0'])).stderr).toContain('every address');
    expect((await svc([...far, '--listen', '127.0.0.1:0'])).stderr).toContain('worker.allow_loopback_rpc');
  });
});

it('a worker accepts calls, is drained by the server, and stops in order', async () => {
  const args = ['worker', '--id', 'w4', '--control-plane', server.url, '--heartbeat-interval', '1s'];
  const listening = [...args, '--listen', '127.0.0.1:0'];
  const running = workerProcess(listening);
  await until('it is heard', async () => (await worker('w4')).rpc_url);
  const second = await svc(listening);
  expect([second.code, second.stderr]).toEqual([
    5,
    expect.stringContaining('A worker with this id already runs'),
  ]);
  expect((await svc(['worker', 'drain', 'w4', '--server', server.url])).code).toBe(0);
  await until('it says so', async () => (await worker('w4')).status === 'draining');
  await ended(running);
  const { rpc_url } = await worker('w4');
  expect((await once('--id', 'w4')).code).toBe(0);
  expect(await worker('w4')).toMatchObject({ rpc_url, status: 'draining' });
  const mute = workerProcess([...args, '--listen', '']);
  await until('it takes no calls', async () => (await worker('w4')).rpc_url === undefined);
  await ended(mute);
});

async function ended(running: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => running.once('exit', resolve));
  running.kill('SIGTERM');
  expect(await exit).toBe(0);
}

function workerProcess(args: string[]): ChildProcess {
  const env = { PATH: process.env.PATH, HOME: server.home, ...server.env };
  const child = spawn(process.execPath, [cli, ...args], { env, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}
