// Named keys of a real server: a rotation that no client notices, and the end of a key on open connections, streams and
// terminals.
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Key, KeyWithSecret } from '../../src/schema/key.ts';
import { describeWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { chosenDatabase } from '../support/servers/chosen-database.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const ADMIN_KEY = 'admin-key-0123456789abcdef0123456789abcdef';
const HOLDS_MS = 2000;
const CLIENTS = 50;

describeWith(['unshare', 'root'], 'named keys', () => {
  const home = makeHome();
  let server: TestServer;
  let sandbox: string;

  beforeAll(async () => {
    const env = { SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: API_KEY, SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY };
    server = await startServer({ home, env });
    sandbox = (await ask<{ id: string }>('POST', '/sandboxes', {}, ADMIN_KEY)).body.id;
  });
  afterAll(async () => {
    await server.stop();
    removeHome(home);
  });

  const ask = <T>(method: string, path: string, body: unknown, key: string) =>
    api(server.url).call<T>(method, path, body, { 'x-api-key': key });
  const create = async (name: string, facts: object = {}) =>
    (await ask<KeyWithSecret>('POST', '/admin/keys', { name, ...facts }, ADMIN_KEY)).body;
  const revoke = (name: string) => ask<Key>('DELETE', `/admin/keys/${name}`, undefined, ADMIN_KEY);
  const cli = (...args: string[]) => runCli(args, { SVC_SERVER: server.url, SVC_API_KEY: ADMIN_KEY });

  /** Sends one call over `agent`, and says whether its connection was used before. */
  const over = (agent: Agent, key: string) =>
    new Promise<{ status: number; reused: boolean; text: string }>((resolve, reject) => {
      const call = request(
        `${server.url}/api/v1/sandboxes/${sandbox}`,
        { agent, headers: { 'x-api-key': key } },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, reused: call.reusedSocket, text }),
          );
        },
      );
      call.on('error', reject).end();
    });

  /** The same for a key that has ended: at one server at once, at all of several within 2 s. */
  const overEnded = async (agent: Agent, key: string) => {
    const deadline = performance.now() + (chosenDatabase() === 'fleet' ? HOLDS_MS : 0);
    for (;;) {
      const answer = await over(agent, key);
      if (answer.status === 401 || performance.now() >= deadline) return answer;
    }
  };

  it('rotate under 50 clients without one refused call', async () => {
    const first = await create('load');
    let key = first.secret;
    let stopped = false;
    const counts = new Map<number, number>();
    const used = new Set<string>();
    const client = async (n: number) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      // Half of the clients change to the new key late.
      let own = key;
      while (!stopped) {
        if (n % 2 === 0 || (counts.get(200) ?? 0) > 40 * CLIENTS) own = key;
        const { status } = await over(agent, own);
        used.add(own);
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
      agent.destroy();
    };
    const clients = Array.from({ length: CLIENTS }, (_, n) => client(n));
    await until('some calls', () => (counts.get(200) ?? 0) > 10 * CLIENTS);
    const rotated = await ask<KeyWithSecret>('POST', '/admin/keys/load/rotate', { overlap: '1h' }, ADMIN_KEY);
    key = rotated.body.secret;
    await until('more calls', () => (counts.get(200) ?? 0) > 60 * CLIENTS);
    stopped = true;
    await Promise.all(clients);
    expect([...counts.keys()]).toEqual([200]);
    expect(used).toEqual(new Set([first.secret, key]));
    // The end of the rotation: the previous key is refused, the new one is not.
    const last = await ask<KeyWithSecret>('POST', '/admin/keys/load/rotate', { overlap: '0s' }, ADMIN_KEY);
    const agent = new Agent();
    const statuses = [];
    for (const each of [first.secret, key]) statuses.push((await overEnded(agent, each)).status);
    statuses.push((await over(agent, last.body.secret)).status);
    expect(statuses).toEqual([401, 401, 200]);
  }, 120_000);

  it('end with revocation, also on a connection that used the key', async () => {
    const { secret } = await create('connected');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await over(agent, secret)).toMatchObject({ status: 200, reused: false });
    expect(await over(agent, secret)).toMatchObject({ status: 200, reused: true });
    await revoke('connected');
    const refused = await overEnded(agent, secret);
    expect(refused).toMatchObject({ status: 401, reused: true });
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'unauthorized' });
    expect(refused.text).toContain('revoked');
    agent.destroy();
  });

  it('end their streams and terminals within 2 s of revocation', async () => {
    const { secret } = await create('streams');
    const headers = { 'x-api-key': secret };
    const json = { ...headers, 'content-type': 'application/json' };
    const events = await fetch(`${server.url}/api/v1/events`, { headers });
    const lines = await fetch(`${server.url}/api/v1/sandboxes/${sandbox}/exec`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ command: 'echo begun; sleep 100', stream: true }),
    });
    const logs = await fetch(`${server.url}/api/v1/sandboxes/${sandbox}/logs?follow=true`, { headers });
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/v1/sandboxes/${sandbox}/exec/ws`, {
      headers,
    });
    const messages: string[] = [];
    socket.on('message', (data) => messages.push(String(data)));
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ type: 'start', command: 'sleep 200', tty: true }));
    await until('the terminal', () => messages.some((text) => text.includes('started')));
    const detached = await ask<{ exec_id: string }>(
      'POST',
      `/sandboxes/${sandbox}/exec`,
      { command: 'sleep 300', detach: true },
      secret,
    );
    const closed = new Promise<[number, string]>((resolve) =>
      socket.once('close', (code, reason) => resolve([code, String(reason)])),
    );
    const bodies = Promise.all([events, lines, logs].map((answer) => answer.text()));

    const begin = performance.now();
    await revoke('streams');
    const [texts, end] = await Promise.all([bodies, closed]);
    expect(performance.now() - begin).toBeLessThan(HOLDS_MS);

    expect(texts[0]).toContain(': Session ended: key revoked.\n\n');
    expect(JSON.parse(texts[1]?.trim().split('\n').at(-1) ?? '')).toEqual({
      ...{ stream: 'error', data: '', code: 'unauthorized', message: 'Session ended: key revoked.' },
    });
    expect(JSON.parse(messages.at(-1) ?? '')).toEqual({
      ...{ type: 'error', code: 'unauthorized', message: 'Session ended: key revoked.' },
    });
    expect(end).toEqual([1008, 'Session ended: key revoked.']);
    // The streamed command and the terminal are killed; the detached command goes on.
    await until('their commands to end', async () => {
      const { body } = await ask<{ exec_id: string; state: string; command: string }[]>(
        'GET',
        `/sandboxes/${sandbox}/execs`,
        undefined,
        ADMIN_KEY,
      );
      const running = body.filter(({ state }) => state === 'running');
      return running.length === 1 && running[0]?.exec_id === detached.body.exec_id;
    });
    expect(server.log()).not.toContain(secret);
  });

  it('end a stream when they expire', async () => {
    const { secret } = await create('short', { ttl: '2s', scopes: ['read'] });
    const events = await fetch(`${server.url}/api/v1/events`, { headers: { 'x-api-key': secret } });
    const begin = performance.now();
    expect(await events.text()).toContain('Session ended: key expired.');
    expect(performance.now() - begin).toBeLessThan(2000 + HOLDS_MS);
  });

  it('are managed from the command line', async () => {
    const made = await cli('key', 'create', 'ci', '--owner', 'ann', '--scope', 'read', '--format', 'e2b');
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^e2b_[0-9a-f]{40}\n$/)]);
    expect(made.stderr).toContain('ann');
    const rotated = await cli('key', 'rotate', 'ci', '--overlap', '1h', '--json');
    const { secret } = JSON.parse(rotated.stdout) as KeyWithSecret;
    expect(secret).toMatch(/^e2b_/);
    const list = await cli('key', 'list');
    expect(list.stdout).toMatch(/ci .*ann .*read .*active, rotating/);
    expect(list.stdout).not.toContain(secret);
    expect((await cli('key', 'rotate', 'ci')).code).toBe(5);
    expect((await cli('key', 'revoke', 'ci')).stdout).toBe('Revoked key ci.\n');
    expect((await overEnded(new Agent(), secret)).status).toBe(401);
    expect((await cli('key', 'revoke', 'nobody')).code).toBe(4);
  });
});
