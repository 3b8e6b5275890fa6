// Hostile input against the real server: nothing answers with a fault of ours, nothing is half done.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const DURATIONS = [
  '1e3s',
  '-1s',
  '0.5s',
  '1h1h',
  '1s1h',
  '٣s',
  '99999999999h',
  '8761h',
  ' 1s',
  '1s ',
  '1',
  's',
  '1d',
  '0x1s',
  '',
  'NaN',
  '1h-1m',
];
const PATHS = [
  'relative',
  '',
  '.',
  '..',
  '/a\0b',
  `/${'x'.repeat(5000)}`,
  'C:\\x',
  '~/x',
  '../../etc/passwd',
];
const BODIES = [
  '{',
  '[]',
  'null',
  '"x"',
  '1',
  '{"ttl":1}',
  '{"memory_mb":"512"}',
  '{"memory_mb":15}',
  '{"vcpus":0}',
  '{"vcpus":1.5}',
  '{"id":"sb-mine"}',
  '{"state":"running"}',
  '{"worker_id":""}',
  '{"worker_id":1}',
  '{"worker_labels":{"a b":"x"}}',
  '{"expires_at":"2099-01-01T00:00:00.000Z"}',
  '{"__proto__":{"polluted":1}}',
  '{"metadata":{"__proto__":"x"}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"metadata":{"k":1}}',
  '{"metadata":null}',
  '{"env":{"1BAD":"x"}}',
  '{"env":{"A=B":"x"}}',
  '{"env":{"A":"\\u0000"}}',
  '{"image":""}',
  `{"image":"${'x'.repeat(600)}"}`,
  '{"network":"host"}',
  '{"provider":"nope"}',
  '{"provider":"__proto__"}',
  `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
  '{"ttl":"1s"',
  '\ufeff{}',
  '{"memory_mb":1e999}',
  "{'ttl':'1s'}",
];

/** The beginning of hostile text, for the title of its test. */
const start = (text: string) => text.slice(0, 40);

describeWith(['unshare'], 'hostile input', () => {
  let server: TestServer;
  let client: Api;
  let id: string;

  beforeAll(async () => {
    server = await startServer({
      env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_SERVER_BODY_LIMIT: '65536' },
    });
    client = api(server.url);
    id = (await client.spawn()).id;
  });
  afterAll(async () => {
    await client.destroy(id);
    await server.stop();
    removeHome(server.home);
  });

  const rows = async () => (await client.call<unknown[]>('GET', '/sandboxes?include_ended=true')).body.length;
  const send = (path: string, body: string, headers: Record<string, string> = {}) =>
    client.raw(path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

  it.each([
    ...BODIES.map((body) => [start(body), body, [400, 404]] as const),
    ['for a worker that does not exist', '{"worker_id":"x"}', [412]] as const,
  ])('refuses the spawn body %s', async (_title, body, statuses) => {
    const before = await rows();
    const answer = await send('/sandboxes', body);
    expect(statuses).toContain(answer.status);
    expect(await answer.json()).toMatchObject({
      code: expect.any(String),
      message: expect.any(String),
      request_id: expect.any(String),
    });
    expect(await rows()).toBe(before);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it.each(DURATIONS)('refuses the duration %j', async (ttl) => {
    for (const [path, body] of [
      ['/sandboxes', { ttl }],
      [`/sandboxes/${id}/extend`, { ttl }],
      [`/sandboxes/${id}/exec`, { command: 'true', timeout: ttl }],
    ] as const) {
      expect((await client.call('POST', path, body)).status).toBe(400);
    }
  });

  it.each(PATHS.map((path) => [start(path), path]))('refuses the path %j', async (_title, path) => {
    const query = `?path=${encodeURIComponent(path)}`;
    for (const target of [`files${query}`, `files/stat${query}`, `files/list${query}`]) {
      expect((await client.raw(`/sandboxes/${id}/${target}`)).status).toBe(400);
    }
    expect((await client.call('POST', `/sandboxes/${id}/files`, { path, content: '' })).status).toBe(400);
  });

  it.each(['sb-000000000000', 'sb_x', '..', '%2e%2e', '%00', 'a'.repeat(300), "'; drop table sandboxes; --"])(
    'does not find the sandbox %j',
    async (unknown) => {
      const answer = await client.raw(`/sandboxes/${encodeURIComponent(unknown)}`);
      expect([400, 404, 414]).toContain(answer.status);
    },
  );

  it('refuses oversized, compressed and mistyped bodies', async () => {
    const big = JSON.stringify({ metadata: { k: 'x'.repeat(70_000) } });
    expect((await send('/sandboxes', big)).status).toBe(413);
    expect((await send('/sandboxes', '{}', { 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await send('/sandboxes', '<x/>', { 'content-type': 'text/xml' })).status).toBe(415);
  });

  it('refuses headers that could mean two things', async () => {
    for (const value of ['a b', 'a/b', 'a\\b', 'x'.repeat(129)]) {
      expect((await client.call('POST', '/sandboxes', {}, { 'x-user-id': value })).status).toBe(400);
    }
    const echoed = await client.call('GET', '/live', undefined, { 'x-request-id': 'mine-1' });
    expect(echoed.headers.get('x-request-id')).toBe('mine-1');
    const replaced = await client.call('GET', '/live', undefined, { 'x-request-id': 'not mine' });
    expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('gives unknown routes and wrong methods the error shape', async () => {
    expect(await client.call('GET', '/nope')).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const wrong = await client.call('PATCH', '/sandboxes');
    expect(wrong).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
    expect(wrong.headers.get('allow')).toContain('POST');
  });

  describe('execs', () => {
    it('keeps a flood of output bounded', async () => {
      const { stdout, stdout_truncated, exit_code } = await client.sh(
        id,
        'head -c 30000000 /dev/zero | tr "\\0" x',
      );
      expect([stdout.length, stdout_truncated, exit_code]).toEqual([10 * 1024 * 1024, true, 0]);
    });

    it('ends a command at its deadline with its output so far', async () => {
      const answer = await client.call('POST', `/sandboxes/${id}/exec`, {
        command: 'echo begun; sleep 60',
        timeout: '1s',
      });
      expect(answer).toMatchObject({
        status: 408,
        body: { code: 'timeout', details: { stdout: 'begun\n', stderr: '' } },
      });
      expect((await client.sh(id, 'pgrep -x sleep | wc -l')).stdout.trim()).toBe('0');
    });

    it('answers 127 and 126 as a shell would, and 429 beyond the largest deadline', async () => {
      const run = (command: string) =>
        client.call('POST', `/sandboxes/${id}/exec`, { mode: 'argv', command });
      expect((await run('/no/such')).body).toMatchObject({ exit_code: 127 });
      expect((await run('/etc/passwd')).body).toMatchObject({ exit_code: 126 });
      const long = await client.call('POST', `/sandboxes/${id}/exec`, { command: 'true', timeout: '11m' });
      expect(long).toMatchObject({ status: 429, body: { code: 'resource_limit' } });
    });

    it('holds a fork bomb inside its sandbox, and destroys it', async () => {
      const bombed = await client.spawn();
      await client.call('POST', `/sandboxes/${bombed.id}/exec`, {
        command: 'bomb() { bomb | bomb & }; bomb; sleep 1',
        timeout: '5s',
      });
      // Its own place for processes may be full; nobody else's is.
      const inside = await client.call('POST', `/sandboxes/${bombed.id}/exec`, { command: 'true' });
      expect([200, 429]).toContain(inside.status);
      await client.sh(id, 'true');
      await client.destroy(bombed.id);
      expect(remains(server, [bombed.id]).processes.filter((line) => line.includes(bombed.id))).toEqual([]);
    });
  });
});
