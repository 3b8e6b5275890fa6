// Credentials that never enter a sandbox: used by its programs, and found nowhere in it.
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { EgressLogLine } from '../../src/schema/egress.ts';
import { type EgressNetwork, egressKey, egressNetwork } from '../support/hosts/egress-network.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { endInNetwork } from '../support/servers/egress-end.ts';
import { cli, startServer, type TestServer } from '../support/servers/server.ts';

const SECRET = 'sk-canary-0123456789abcdef0123';
const INLINE = 'sk-inline-fedcba9876543210fedc';
const CONFIGURED = 'sk-configured-0123456789abcdef';
const ADMIN = { 'x-admin-api-key': `${egressKey['x-api-key']}-admin` };
const CREDENTIAL = { hosts: ['api.example.com'], format: 'Bearer {value}', env: 'API_KEY', owners: ['*'] };

describeWith(['root', 'unshare', 'python3', 'openssl'], 'credentials of userspace sandboxes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-credentials-'));
  let net: EgressNetwork;
  let server: TestServer;
  let client: Api;

  const start = async (home?: string) => {
    const trust = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'), SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
    const env = {
      ...net.launch.env,
      ...trust,
      SVC_EGRESS_CREDENTIALS: JSON.stringify({ configured: { file: join(folder, 'key') } }),
      SVC_EGRESS_CREDENTIAL_TERMS: JSON.stringify({ configured: CREDENTIAL }),
    };
    server = await startServer({ ...net.launch, env, ...(home !== undefined && { home }) });
    client = api(server.url, egressKey);
  };
  const put = (name: string, body: object) =>
    client.call('PUT', `/admin/egress/credentials/${name}`, body, ADMIN);
  const get = (id: string, path: string) => client.sh(id, `curl -sS http://api-key.svc.internal${path}`);

  beforeAll(async () => {
    net = await egressNetwork(cli, () => ({ 'api.example.com': ['93.184.216.34'] }));
    writeFileSync(join(folder, 'ca.pem'), net.ca);
    writeFileSync(join(folder, 'key'), `${CONFIGURED}\n`, { mode: 0o600 });
    await start();
    expect((await put('api-key', { ...CREDENTIAL, value: SECRET })).status).toBe(200);
  });
  beforeEach(() => net.clear());
  afterAll(async () => {
    try {
      expect(await endInNetwork(server, net)).toBe(0);
    } finally {
      removeFolder(folder);
    }
  });

  it.each(['proxy', 'gate'])('adds the header to requests to its endpoint [%s]', async (mode) => {
    const { id } = await client.spawn({
      egress: { mode, allow: ['api.example.com'], credentials: ['api-key'] },
    });
    const run = await get(id, '/hello.txt?q=1');
    expect(run).toMatchObject({ exit_code: 0, stdout: 'hello\n' });
    expect(net.requests()).toEqual(['api.example.com/hello.txt?q=1']);
    expect(net.authorizations()).toEqual([`Bearer ${SECRET}`]);
    const { body } = await client.call<EgressLogLine[]>('GET', `/sandboxes/${id}/egress/log`);
    expect(body).toMatchObject([{ how: 'endpoint', credential: 'api-key', path: '/hello.txt', status: 200 }]);
    await client.destroy(id);
  });

  it('takes credentials of the configuration, and their new values with a reload', async () => {
    const { id } = await client.spawn({
      egress: { allow: ['api.example.com'], credentials: ['configured'] },
    });
    const used = async () => {
      await client.sh(id, 'curl -sS http://configured.svc.internal/hello.txt');
      return net.authorizations().at(-1);
    };
    expect(await used()).toBe(`Bearer ${CONFIGURED}`);
    const { body } = await client.call<{ name: string; source: string }[]>(
      'GET',
      '/admin/egress/credentials',
      undefined,
      ADMIN,
    );
    expect(body.map(({ name, source }) => [name, source])).toEqual([
      ['api-key', 'stored'],
      ['configured', 'configuration'],
    ]);
    expect((await put('configured', { ...CREDENTIAL, value: 'x' })).status).toBe(409);
    const path = '/admin/egress/credentials/configured';
    expect((await client.call('DELETE', path, undefined, ADMIN)).status).toBe(409);
    const next = 'sk-configured-next-0123456789';
    writeFileSync(join(folder, 'key'), next);
    server.child.kill('SIGHUP');
    await expect.poll(used, { timeout: 10_000 }).toBe(`Bearer ${next}`);
    for (const value of [CONFIGURED, next]) expect(server.log()).not.toContain(value);
    await client.destroy(id);
  });

  it('is in no environment, file, list of processes and memory of the sandbox', async () => {
    const inline = { name: 'own', hosts: ['api.example.com'], value: INLINE };
    const egress = { allow: ['api.example.com'], credentials: ['api-key', inline] };
    const spawned = await client.spawn({ egress });
    const { id } = spawned;
    await client.call('POST', `/sandboxes/${id}/exec`, { command: 'sleep 7423.5', detach: true });
    await get(id, '/hello.txt');
    await client.sh(
      id,
      'curl -sS http://own.svc.internal/hello.txt; curl -sS https://api.example.com/hello.txt',
    );
    // In TLS of programs the last one of a policy is the strongest.
    expect(net.authorizations()).toEqual([`Bearer ${SECRET}`, INLINE, INLINE]);
    const env = await client.sh(id, 'env');
    expect(env.stdout).toContain('API_KEY=svc-credential-api-key');
    const seen = await client.sh(
      id,
      // The pattern matches itself nowhere: its own command line has brackets.
      "env; ps axeww; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; grep -rsE 'sk-(canary|inline)[-]' /workspace /tmp /etc /run /var | head; true",
      { timeout: '1m' },
    );
    const pids = processesBeside('sleep\0' + '7423.5');
    expect(pids.length).toBeGreaterThan(1);
    const held = pids.filter((pid) => memoryHas(pid, [SECRET, INLINE]));
    expect(held).toEqual([]);
    for (const value of [SECRET, INLINE]) expect(JSON.stringify([env, seen, spawned])).not.toContain(value);
    await client.destroy(id);
  });

  it('is found in memory that has it: the search works', () => {
    expect(memoryHas(process.pid, [SECRET])).toBe(true);
  });

  it('shows no value in answers, events, logs, diagnostics and the database', async () => {
    const inline = { name: 'own', hosts: ['api.example.com'], value: INLINE };
    const egress = { allow: ['api.example.com'], credentials: [inline, 'api-key'] };
    const template = await client.call('POST', '/templates', { name: 'keyed', image: 'host', egress });
    expect(template).toMatchObject({
      status: 201,
      body: { egress: { credentials: [{ name: 'own', value: '***' }, 'api-key'] } },
    });
    const { id } = await client.spawn({ egress });
    await get(id, '/hello.txt');
    await client.sh(id, 'curl -sS https://api.example.com/hello.txt');
    const paths = ['/templates/keyed', `/sandboxes/${id}`, `/sandboxes/${id}/egress`, '/events?follow=false'];
    const answers = await Promise.all(
      [...paths, '/diagnostics', '/admin/egress/credentials', '/admin/audit'].map(async (path) => {
        const answer = await client.raw(path, { headers: ADMIN });
        return { status: answer.status, text: await answer.text() };
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const files = readdirSync(server.home, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    const stored = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'));
    // The key of the authority, too.
    for (const value of [SECRET, INLINE, Buffer.from(INLINE).toString('base64'), 'PRIVATE KEY'])
      expect([JSON.stringify(answers), server.log(), ...stored].some((text) => text.includes(value))).toBe(
        false,
      );
    await client.destroy(id);
  });

  it('is not served to owners that it does not name', async () => {
    expect((await put('ann-key', { ...CREDENTIAL, owners: ['ann'], value: SECRET })).status).toBe(200);
    const request = { egress: { allow: ['api.example.com'], credentials: ['ann-key'] } };
    const of = (owner: string) =>
      client.call<{ id: string }>('POST', '/sandboxes', request, { 'x-user-id': owner });
    expect(await of('bob')).toMatchObject({ status: 400 });
    const spawned = await of('ann');
    expect(spawned.status).toBe(201);
    await client.call('DELETE', `/sandboxes/${spawned.body.id}`, undefined, { 'x-user-id': 'ann' });
  });

  it('holds after a restart, is replaced while a sandbox runs, and ends with its removal', async () => {
    const { id } = await client.spawn({
      egress: { allow: ['api.example.com'], credentials: ['api-key'] },
    });
    const { home } = server;
    expect(await server.stop()).toBe(0);
    await start(home);
    await expect.poll(async () => (await get(id, '/hello.txt')).stdout, { timeout: 20_000 }).toBe('hello\n');
    const next = 'sk-canary-replaced-0123456789';
    await put('api-key', { ...CREDENTIAL, value: next });
    // A change holds within 100 ms.
    const used = async () => {
      await get(id, '/hello.txt');
      return net.authorizations().at(-1);
    };
    await expect.poll(used, { timeout: 5000 }).toBe(`Bearer ${next}`);
    await client.call('DELETE', '/admin/egress/credentials/api-key', undefined, ADMIN);
    await expect
      .poll(async () => (await get(id, '/hello.txt')).stdout, { timeout: 5000 })
      .toContain('not allowed');
    await client.destroy(id);
  });
});

/** Processes of this machine in the namespace of the one with this command line. */
function processesBeside(commandLine: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const spaceOf = (pid: string) => {
    try {
      return readlinkSync(`/proc/${pid}/ns/pid`);
    } catch {
      return undefined;
    }
  };
  const one = pids.find((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(commandLine);
    } catch {
      return false;
    }
  });
  const space = one && spaceOf(one);
  return pids.filter((pid) => space !== undefined && spaceOf(pid) === space).map(Number);
}

/** Reads as a debugger does. */
function memoryHas(pid: number, values: readonly string[]): boolean {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n').filter(Boolean);
  const file = openSync(`/proc/${pid}/mem`, 'r');
  try {
    return maps.some((line) => {
      const [, from = '', to = ''] = /^([0-9a-f]+)-([0-9a-f]+) r/.exec(line) ?? [];
      if (from === '' || line.includes('[v')) return false;
      return regionHas(file, [Number.parseInt(from, 16), Number.parseInt(to, 16)], values);
    });
  } finally {
    closeSync(file);
  }
}

const WINDOW = 1024 * 1024;

function regionHas(file: number, [from, to]: [number, number], values: readonly string[]): boolean {
  const bytes = Buffer.alloc(WINDOW);
  const overlap = Math.max(...values.map(({ length }) => length));
  for (let at = from; at < to; at += WINDOW - overlap) {
    try {
      const read = readSync(file, bytes, 0, Math.min(WINDOW, to - at), at);
      if (values.some((value) => bytes.subarray(0, read).includes(value))) return true;
    } catch {
      return false;
    }
  }
  return false;
}
