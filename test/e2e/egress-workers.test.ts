// Outgoing connections of sandboxes on workers. The worker has a network around it in which every address answers, and the
// servers do not: what is reached, the worker has dialed.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { EgressLogLine, EgressStatus } from '../../src/schema/egress.ts';
import { endRuntimes } from '../support/checks/leftovers.ts';
import { type EgressNetwork, egressKey, egressNetwork } from '../support/hosts/egress-network.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { workerEnv } from '../support/servers/worker-beside.ts';
import { until } from '../support/until.ts';

const PUBLIC = '93.184.216.34';
const SECRET = 'sk-worker-0123456789abcdef0123';
const ADMIN = { 'x-admin-api-key': `${egressKey['x-api-key']}-admin` };
const WORKER = { SVC_AUTH_WORKER_TOKEN: 'the secret of a worker elsewhere, not to be shared' };

const body = (mode: 'gate' | 'proxy', env: () => Record<string, string>) => () => {
  let net: EgressNetwork;
  let server: TestServer;
  let worker: ChildProcess;
  let workerLog = '';
  let client: Api;
  let folder: string;

  const start = async (home?: string) => {
    const own = {
      SVC_SERVER_HOST: net.gateway,
      SVC_SERVER_PORT: home === undefined ? '0' : new URL(server.url).port,
      SVC_SECRETS_KEY: 'a key for stored secrets, equal on all servers',
      SVC_WORKER_HEARTBEAT_INTERVAL: '1s',
      ...WORKER,
    };
    const { SVC_EGRESS_RESOLVER: _, ...launch } = net.launch.env;
    server = await startServer({
      env: { ...launch, ...env(), ...own },
      onWorker: false,
      ...(home !== undefined && { home }),
    });
    client = api(server.url, egressKey);
    await client.call('POST', '/admin/workers/local/drain', { drain: true }, ADMIN);
  };
  const known = async () =>
    (
      await client.call<{ id: string; last_heartbeat: string; capabilities: string[] }[]>(
        'GET',
        '/workers',
        undefined,
        ADMIN,
      )
    ).body;
  const startWorker = async () => {
    const since = Date.now();
    const own = {
      ...workerEnv(server.env, folder),
      ...WORKER,
      SVC_EGRESS_RESOLVER: net.launch.env.SVC_EGRESS_RESOLVER as string,
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    };
    const url = server.replicas?.[0]?.url ?? server.url;
    const args = ['worker', '--id', 'far', '--control-plane', url, '--listen', `${net.address}:0`];
    worker = spawn('nsenter', [...net.inside, process.execPath, cli, ...args], {
      cwd: folder,
      env: own,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    worker.stderr?.setEncoding('utf8').on('data', (text: string) => {
      workerLog += text;
    });
    await until(
      'the worker is heard',
      async () =>
        (await known()).some(({ id, last_heartbeat }) => id === 'far' && Date.parse(last_heartbeat) > since),
      60_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}; its log ends:\n${workerLog.slice(-2000)}`);
    });
  };
  const killed = (child: ChildProcess) =>
    new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  const fetched = (id: string, url: string) => client.sh(id, `curl -sS -m 20 ${url}`);
  const log = async (id: string) =>
    (await client.call<EgressLogLine[]>('GET', `/sandboxes/${id}/egress/log?limit=1000`)).body;
  const status = async (id: string) =>
    (await client.call<EgressStatus>('GET', `/sandboxes/${id}/egress`)).body;

  beforeAll(async () => {
    net = await egressNetwork(cli, () => ({
      'api.example.com': [PUBLIC],
      'other.example.com': ['93.184.216.35'],
      'both.example.com': ['127.0.0.1', '10.0.0.5'],
    }));
    await start();
    folder = join(server.home, 'far');
    mkdirSync(folder);
    writeFileSync(join(folder, 'ca.pem'), net.ca);
    await startWorker();
    const credential = { hosts: ['api.example.com'], format: 'Bearer {value}', owners: ['*'], value: SECRET };
    const put = await client.call('PUT', '/admin/egress/credentials/api-key', credential, ADMIN);
    expect(put.status).toBe(200);
  }, 240_000);
  beforeEach(() => net.clear());
  afterAll(async () => {
    try {
      if (worker) await killed(worker);
      expect(await server?.stop()).toBe(0);
    } finally {
      const instance = /"instance":"([0-9a-f-]{36})"/.exec(workerLog)?.[1]?.replaceAll('-', '').slice(0, 12);
      if (instance) endRuntimes(instance);
      if (server) removeHome(server.home);
      net?.remove();
    }
  }, 240_000);

  it('reaches what the policy allows, from the worker, and nothing else', async () => {
    const spawned = await client.spawn({ egress: { allow: ['api.example.com', 'both.example.com'] } });
    const { id } = spawned;
    expect(spawned).toMatchObject({ worker_id: 'far', egress: { mode } });
    expect((await fetched(id, 'http://api.example.com/hello.txt')).stdout).toBe('hello\n');
    expect((await fetched(id, 'http://other.example.com/')).stdout).toContain('is not allowed');
    expect((await fetched(id, 'http://both.example.com/')).stdout).toContain('leads to an address');
    expect(net.reached()).toEqual([`outside ${PUBLIC}:80`]);
    expect(net.lookups()).not.toContain('other.example.com');
    expect((await log(id)).map(({ host, reason }) => `${host} ${reason}`)).toEqual([
      'api.example.com rule_allow',
      'other.example.com not_allowed',
      'both.example.com address_loopback',
    ]);
    expect(await status(id)).toMatchObject({ is_open: true, mode, counters: { allowed: 1, denied: 2 } });
    const check = { sandbox_id: id, host: 'api.example.com', port: 443 };
    expect((await client.call('POST', '/egress/check', check)).body).toMatchObject({
      decision: 'allowed',
      addresses: [PUBLIC],
    });
    await until('the event of the refusal', async () => {
      const events = await client.raw(`/events?follow=false&type=egress.denied&sandbox_id=${id}`);
      return (await events.text()).includes('other.example.com');
    });
    await client.destroy(id);
  });

  it('changes while it runs: open connections end before the answer', async () => {
    const { id } = await client.spawn({ egress: { allow: ['api.example.com:2222', 'api.example.com'] } });
    const via = mode === 'proxy' ? "('127.0.0.1', 7424)" : "('api.example.com', 2222)";
    const ask =
      mode === 'proxy'
        ? "s.sendall(b'CONNECT api.example.com:2222 HTTP/1.1\\r\\nHost: api.example.com:2222\\r\\n\\r\\n')"
        : 'pass';
    const running = client
      .sh(
        id,
        `/usr/bin/python3 -c "import socket\ns = socket.create_connection(${via})\n${ask}\nwhile s.recv(100): pass"`,
      )
      .catch(String);
    await until('the connection outside', () => net.reached().length > 0);
    await until('the connection to be open', async () => (await status(id)).counters.open === 1);
    const changed = await client.call('PUT', `/sandboxes/${id}/egress`, { allow: ['other.example.com'] });
    expect(changed).toMatchObject({ status: 200, body: { counters: { open: 0 } } });
    await running;
    expect((await fetched(id, 'http://api.example.com/hello.txt')).stdout).toContain('is not allowed');
    expect((await fetched(id, 'http://other.example.com/hello.txt')).stdout).toBe('hello\n');
    await client.destroy(id);
  });

  it('gives credentials that neither the sandbox nor the log of the worker has', async () => {
    const { id } = await client.spawn({
      egress: { allow: ['api.example.com'], credentials: ['api-key'], log: 'all' },
    });
    expect((await fetched(id, 'http://api-key.svc.internal/hello.txt')).stdout).toBe('hello\n');
    expect((await fetched(id, 'https://api.example.com/hello.txt')).stdout).toBe('hello\n');
    expect(net.authorizations()).toEqual([`Bearer ${SECRET}`, `Bearer ${SECRET}`]);
    const seen = await client.sh(
      id,
      "env; cat /proc/[0-9]*/environ; grep -rs 'sk-worker[-]' /tmp /etc /.svc-trust | head; true",
    );
    expect(JSON.stringify(seen)).not.toContain(SECRET);
    expect([workerLog.includes(SECRET), server.log().includes(SECRET)]).toEqual([false, false]);
    expect(workerLog).not.toContain('PRIVATE KEY');
    await client.call(
      'PUT',
      '/admin/egress/credentials/api-key',
      {
        ...{ hosts: ['api.example.com'], format: 'Token {value}', owners: ['*'], value: SECRET },
      },
      ADMIN,
    );
    await until('the changed credential', async () => {
      await fetched(id, 'http://api-key.svc.internal/hello.txt');
      return net.authorizations().at(-1) === `Token ${SECRET}`;
    });
    await client.destroy(id);
  });

  it('holds the policy over a restart of the server, and gets it again after one of the worker', async () => {
    const { id } = await client.spawn({ egress: { allow: ['api.example.com'] } });
    await client.sh(
      id,
      'setsid sh -c "while :; do curl -sS -m 5 http://api.example.com/hello.txt http://other.example.com/hello.txt; sleep 0.1; done" >/dev/null 2>&1 </dev/null &',
    );
    await until('a request', () => net.requests().length > 0);
    await server.kill();
    net.clear();
    await until('a request without a server', () => net.requests().length > 1, 30_000);
    await start(server.home);
    await until('the log over a new link', async () => (await status(id)).is_open, 30_000);
    expect((await log(id)).length).toBeGreaterThan(0);
    const changed = await client.call('PUT', `/sandboxes/${id}/egress`, { allow: ['other.example.com'] });
    expect(changed.status).toBe(200);
    net.clear();
    await until('a request under the new policy', () => net.requests().length > 1, 30_000);
    expect(new Set(net.requests())).toEqual(new Set(['other.example.com/hello.txt']));
    const left = new AbortController();
    const { body } = await client.raw(`/sandboxes/${id}/egress/log?follow=true`, { signal: left.signal });
    const reader = body!.getReader();
    await reader.read();
    await killed(worker);
    net.clear();
    await startWorker();
    await until('a request after the start of the worker', () => net.requests().length > 1, 60_000);
    // Whoever follows the log hears of it again.
    await reader.read();
    left.abort();
    await reader.cancel().catch(() => undefined);
    expect(new Set(net.requests())).toEqual(new Set(['other.example.com/hello.txt']));
    await client.destroy(id);
    net.clear();
    expect((await client.call('GET', `/sandboxes/${id}/egress`)).status).toBe(404);
    expect(net.requests()).toEqual([]);
  }, 240_000);
};

describeWith(
  ['root', 'unshare', 'python3', 'openssl'],
  'egress of userspace sandboxes on a worker',
  body('gate', () => ({ SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' })),
);
