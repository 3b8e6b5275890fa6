// Outgoing connections of sandboxes on workers. The worker has a network around it in which every address answers, and the
// servers do not: what is reached, the worker has dialed.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { EgressLogLine, EgressStatus } from '../../src/schema/egress.ts';
import type { EgressNetwork } from '../support/hosts/egress-network.ts';
import { describeWith } from '../support/requires.ts';
import type { Api } from '../support/servers/api.ts';
import { ADMIN, EgressWorker } from '../support/servers/egress-worker.ts';
import { until } from '../support/until.ts';

const PUBLIC = '93.184.216.34';
const SECRET = 'sk-worker-0123456789abcdef0123';

const body = (mode: 'gate' | 'proxy', env: Record<string, string>) => () => {
  const world = new EgressWorker(env);
  let net: EgressNetwork;
  let client: Api;

  const fetched = (id: string, url: string) => client.sh(id, `curl -sS -m 20 ${url}`);
  const log = async (id: string) =>
    (await client.call<EgressLogLine[]>('GET', `/sandboxes/${id}/egress/log?limit=1000`)).body;
  const status = async (id: string) =>
    (await client.call<EgressStatus>('GET', `/sandboxes/${id}/egress`)).body;

  beforeAll(async () => {
    await world.start(() => ({
      'api.example.com': [PUBLIC],
      'other.example.com': ['93.184.216.35'],
      'both.example.com': ['127.0.0.1', '10.0.0.5'],
      'mirror.example.com': ['10.0.0.80'],
      'evil.example.com': ['169.254.169.254', '127.0.0.1'],
    }));
    ({ net, client } = world);
    const credential = { hosts: ['api.example.com'], format: 'Bearer {value}', owners: ['*'], value: SECRET };
    const put = await client.call('PUT', '/admin/egress/credentials/api-key', credential, ADMIN);
    expect(put.status).toBe(200);
  }, 240_000);
  beforeEach(() => net.clear());
  afterAll(async () => {
    expect(await world.end()).toBe(0);
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

  it('reaches private addresses of names that the operator named, and nothing else by them', async () => {
    const hosts = ['mirror', 'evil', 'both'].map((name) => `${name}.example.com`);
    const { id } = await client.spawn({ egress: { allow: hosts } });
    const all = hosts.map((host) => `http://${host}/hello.txt`).join(' ');
    const { stdout } = await fetched(id, all);
    expect(stdout).toMatch(/^hello\n.*evil.example.com.*both.example.com/s);
    expect(net.reached()).toEqual(['outside 10.0.0.80:80']);
    expect((await log(id)).map(({ host, reason, address }) => [host, reason, address])).toEqual([
      [hosts[0], 'rule_allow', '10.0.0.80'],
      [hosts[1], 'address_metadata', '169.254.169.254'],
      [hosts[2], 'address_loopback', '127.0.0.1'],
    ]);
    await client.destroy(id);
    const open = await client.spawn({ egress: { default: 'allow' } });
    expect((await fetched(open.id, 'http://mirror.example.com/')).stdout).toContain('mirror.example.com');
    expect(net.reached()).toEqual(['outside 10.0.0.80:80']);
    await client.destroy(open.id);
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
    expect([world.log.includes(SECRET), world.server.log().includes(SECRET)]).toEqual([false, false]);
    expect(world.log).not.toContain('PRIVATE KEY');
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
    await world.server.kill();
    net.clear();
    await until('a request without a server', () => net.requests().length > 1, 30_000);
    await world.startServer();
    ({ client } = world);
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
    await world.killWorker();
    net.clear();
    await world.startWorker();
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
  body('gate', {
    SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
    SVC_EGRESS_PRIVATE_NAMES: 'mirror.example.com,evil.example.com',
  }),
);
