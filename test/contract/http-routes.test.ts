// Every route once as it should be and once as it fails, over a fake control plane; every answer is held to the API
// description.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { undescribed } from '../support/checks/openapi-check.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

let http: TestHttp;
const ID = 'sb-known0000000';

beforeAll(async () => {
  http = await startHttp();
});
afterAll(() => http.server.close(0));
beforeEach(async () => {
  http.control.failing.clear();
  http.control.sandboxMap.clear();
  http.control.fileMap.clear();
  http.control.templateMap.clear();
  http.control.asked.length = 0;
});

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const url = http.base + path;
  const raw = Buffer.isBuffer(body);
  const type =
    body === undefined ? {} : { 'content-type': raw ? 'application/octet-stream' : 'application/json' };
  const sent = body === undefined ? {} : { body: raw ? new Uint8Array(body) : JSON.stringify(body) };
  const answer = await fetch(url, { method, headers: { ...type, ...headers }, ...sent });
  const text = await answer.text();
  const found = { status: answer.status, type: answer.headers.get('content-type'), body: text };
  expect(undescribed({ method, url }, found)).toBeUndefined();
  expect(answer.headers.get('x-request-id')).toMatch(/^[\w-]+$/);
  const json = found.type?.startsWith('application/json') ? (JSON.parse(text) as unknown) : undefined;
  return { status: answer.status, headers: answer.headers, text, json };
}
const spawn = async () => ((await call('POST', '/sandboxes', {})).json as { id: string }).id;
const lastArgs = () => http.control.asked.at(-1)?.args;

describe('sandboxes', () => {
  it('spawns with and without a body', async () => {
    const made = await call(
      'POST',
      '/sandboxes',
      { ttl: '1h', env: { A: 'b' } },
      { 'x-user-id': ' ann ', 'idempotency-key': '!k~' },
    );
    expect(made).toMatchObject({ status: 201, json: { state: 'running', owner_id: 'ann' } });
    expect(lastArgs()).toEqual([{ ttl: '1h', env: { A: 'b' } }, { idempotencyKey: '!k~' }]);
    expect((await call('POST', '/sandboxes')).status).toBe(201);
    expect(lastArgs()).toEqual([{}, {}]);
  });

  it('refuses the spawn body that is not an object of known fields and values', async () => {
    for (const body of [
      null,
      [],
      'x',
      1,
      { id: 'sb-mine' },
      { state: 'running' },
      { runtime_id: 'w' },
      { expires_at: '' },
      { worker_id: 'a worker' },
      { worker_labels: { 'a key': 'v' } },
      { worker_labels: { key: '' } },
      { worker_labels: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`k${n}`, 'v'])) },
    ]) {
      expect((await call('POST', '/sandboxes', body)).status).toBe(400);
    }
    expect(http.control.asked).toEqual([]);
  });

  it('names every unknown field', async () => {
    const { json } = await call('POST', '/sandboxes', { ttl: '1h', tll: '1h', meta: {} });
    expect((json as { message: string }).message).toBe('The body has unknown fields: "tll", "meta".');
  });

  it.each(['', 'a b', 'ä', 'x'.repeat(256), '\t'])('refuses the idempotency key %j', async (key) => {
    const answer = await call('POST', '/sandboxes', {}, { 'idempotency-key': key });
    expect(answer.status).toBe(400);
  });

  it('lists in pages', async () => {
    for (let i = 0; i < 3; i += 1) await spawn();
    const first = await call('GET', '/sandboxes?limit=2');
    expect(first.json).toHaveLength(2);
    expect(first.headers.get('x-next-cursor')).toBe('2');
    const rest = await call('GET', '/sandboxes?limit=2&cursor=2&metadata.purpose=ci');
    expect(rest.json).toHaveLength(1);
    expect(rest.headers.get('x-next-cursor')).toBeNull();
    expect(lastArgs()).toEqual([{ limit: 2, cursor: '2', 'metadata.purpose': 'ci' }]);
  });

  it('gets, extends, destroys and prunes', async () => {
    const id = await spawn();
    expect(await call('GET', `/sandboxes/${id}`)).toMatchObject({ status: 200, json: { id } });
    expect((await call('POST', `/sandboxes/${id}/extend`, { ttl: '2h' })).status).toBe(200);
    expect((await call('DELETE', `/sandboxes/${id}`)).json).toEqual({ status: 'destroyed', was_there: true });
    expect((await call('GET', `/sandboxes/${id}`)).status).toBe(404);
    expect((await call('POST', '/sandboxes/prune')).json).toEqual({ pruned: 3 });
    expect((await call('DELETE', '/sandboxes')).json).toEqual({ pruned: 3 });
  });

  it('keeps labels of any text, and shows them', async () => {
    const metadata = { 'a\nb': 'c\u2028d', constructor: 'x', '': '', ['ü'.repeat(64)]: '\ud83d\ude00' };
    const { json } = await call('POST', '/sandboxes', { metadata });
    expect((json as { metadata: object }).metadata).toEqual(metadata);
    for (const bad of [{ ['k'.repeat(65)]: 'v' }, { k: 'v'.repeat(1025) }, { k: 1 }, { 'a\nb': 1 }]) {
      expect((await call('POST', '/sandboxes', { metadata: bad })).status).toBe(400);
    }
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, 'v']));
    expect((await call('POST', '/sandboxes', { metadata: many })).status).toBe(400);
    expect((await call('POST', '/sandboxes', { env: { 'A-B': 'x' } })).status).toBe(400);
  });
});

describe('templates', () => {
  const make = (more: object = {}) => call('POST', '/templates', { name: 'py', image: 'python:3', ...more });

  it('creates, gets, lists, replaces, deletes', async () => {
    const made = await make({ env: { A: 'b' }, setup: ['true'], prewarm: 2, network: 'none' });
    expect(made).toMatchObject({ status: 201, json: { name: 'py', version: 1, prewarm: 2 } });
    expect(made.headers.get('etag')).toBe('"1"');
    expect(await make()).toMatchObject({ status: 409, json: { code: 'conflict' } });
    expect((await call('GET', '/templates/py')).json).toEqual(made.json);
    const list = await call('GET', '/templates?limit=1');
    expect([list.json, list.headers.get('x-next-cursor')]).toEqual([[made.json], 'next']);
    const replaced = await call('PUT', '/templates/py', { image: 'python:4' });
    expect(replaced).toMatchObject({ status: 200, json: { version: 2, image: 'python:4', prewarm: 0 } });
    expect(replaced.headers.get('etag')).toBe('"2"');
    expect((await call('DELETE', '/templates/py')).json).toEqual({ status: 'deleted' });
    for (const [method, body] of [['GET'], ['PUT', { image: 'i' }], ['DELETE']] as const)
      expect((await call(method, '/templates/py', body)).status).toBe(404);
  });

  it.each([
    ['"1"', 200, [1]],
    ['"7", "1"', 200, [7, 1]],
    ['*', 200, undefined],
    ['"2"', 412, [2]],
    ['W/"1"', 412, []],
    ['"x"', 412, []],
    ['1', 400, undefined],
    ['"1" "2"', 400, undefined],
    ['', 400, undefined],
  ])('reads If-Match %s as %d', async (tag, status, versions) => {
    await make();
    const answer = await call('PUT', '/templates/py', { image: 'i' }, { 'if-match': tag });
    expect(answer.status).toBe(status);
    if (status !== 400) expect(lastArgs()?.at(-1)).toEqual(versions ? { versions } : {});
  });

  it('spawns with and without overrides', async () => {
    await make();
    const body = { ttl: '1h', metadata: { a: 'b' }, owner_id: 'ann', provider: 'userspace', network: 'none' };
    const headers = { 'idempotency-key': 'k1', 'x-user-id': 'bob' };
    const made = await call('POST', '/templates/py/spawn', body, headers);
    expect(made).toMatchObject({ status: 201, json: { state: 'running' } });
    expect(http.control.asked.at(-1)).toMatchObject({
      args: ['py', body, { idempotencyKey: 'k1' }],
      caller: { owner: 'bob' },
    });
    expect((await call('POST', '/templates/py/spawn')).status).toBe(201);
    expect((await call('POST', '/templates/none/spawn')).status).toBe(404);
  });

  it.each([
    ['POST', '', {}],
    ['POST', '', { name: 'py' }],
    ['POST', '', { image: 'i' }],
    ['POST', '', { name: 'Upper', image: 'i' }],
    ['POST', '', { name: 'a/b', image: 'i' }],
    ['POST', '', { name: '', image: 'i' }],
    ['POST', '', { name: 'n'.repeat(64), image: 'i' }],
    ['POST', '', { name: 'py', image: '' }],
    ['POST', '', { name: 'py', image: 'i', version: 3 }],
    ['POST', '', { name: 'py', image: 'i', prewarm: -1 }],
    ['POST', '', { name: 'py', image: 'i', prewarm: 1.5 }],
    ['POST', '', { name: 'py', image: 'i', setup: 'true' }],
    ['POST', '', { name: 'py', image: 'i', setup: [''] }],
    ['POST', '', { name: 'py', image: 'i', env: { 'A-B': 'x' } }],
    ['POST', '', { name: 'py', image: 'i', owner_id: 'ann' }],
    ['PUT', '/py', {}],
    ['PUT', '/py', undefined],
    ['POST', '/py/spawn', { image: 'other' }],
    ['POST', '/py/spawn', { template: 'other' }],
    ['POST', '/py/spawn', { setup: [] }],
    ['GET', '?limit=0', undefined],
    ['GET', '?owner_id=ann', undefined],
  ])('refuses %s /templates%s %j', async (method, path, body) => {
    expect((await call(method, `/templates${path}`, body)).status).toBe(400);
    expect(http.control.asked).toEqual([]);
  });
});

describe('exec', () => {
  it('runs plain and streamed', async () => {
    expect(await call('POST', `/sandboxes/${ID}/exec`, { command: 'hi' })).toMatchObject({
      status: 200,
      json: { stdout: 'hi' },
    });
    const streamed = await call('POST', `/sandboxes/${ID}/exec`, { command: 'hi', stream: true });
    expect(streamed.headers.get('content-type')).toBe('application/x-ndjson');
    expect(streamed.headers.get('cache-control')).toBe('no-store');
    expect(streamed.headers.get('x-accel-buffering')).toBe('no');
    expect(
      streamed.text
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { stream: string }).stream),
    ).toEqual(['start', 'stdout', 'exit']);
  });

  it.each(['not_found', 'conflict', 'resource_limit', 'unavailable', 'timeout'] as const)(
    'answers %s plainly, streamed or not',
    async (code) => {
      for (const [method, stream] of [
        ['exec.run', false],
        ['exec.stream', true],
      ] as const) {
        http.control.failing.set(method, new ServiceError(code, 'No.', { retryAfterMs: 1 }));
        const answer = await call('POST', `/sandboxes/${ID}/exec`, { command: 'hi', stream });
        expect(answer.json).toMatchObject({ code, message: 'No.' });
        expect(answer.headers.get('retry-after')).toBe('1');
      }
    },
  );

  it('refuses requests that the schema refuses', async () => {
    for (const body of [
      {},
      { command: '' },
      { command: 'x', mode: 'tty' },
      { command: 'x', detach: 'yes' },
      { command: 'x', args: [1] },
      undefined,
    ]) {
      expect((await call('POST', `/sandboxes/${ID}/exec`, body)).status).toBe(400);
    }
  });
});

describe('detached commands and the console', () => {
  const one = `/sandboxes/${ID}/execs/ex-1`;

  it('starts a command, and lists, gets and signals it', async () => {
    expect(await call('POST', `/sandboxes/${ID}/exec`, { command: 'x', detach: true })).toMatchObject({
      status: 202,
      json: { exec_id: 'ex-aaaaaaaaaaaa' },
    });
    expect((await call('GET', `/sandboxes/${ID}/execs`)).json).toMatchObject([{ state: 'running' }]);
    expect((await call('GET', one)).json).toMatchObject({ exec_id: 'ex-1', command: 'sleep 1' });
    expect((await call('POST', `${one}/signal`, { signal: 'SIGTERM' })).json).toEqual({
      status: 'signalled',
    });
    expect(lastArgs()).toEqual([{ id: ID, exec_id: 'ex-1' }, 'SIGTERM']);
  });

  it('returns the kept output', async () => {
    const { headers, text } = await call('GET', `${one}/output?encoding=base64`);
    expect(headers.get('content-type')).toBe('application/x-ndjson');
    expect(text.split('\n')[1]).toBe('{"stream":"stdout","data":"kept"}');
    expect(lastArgs()?.[1]).toMatchObject({ encoding: 'base64' });
  });

  it.each([
    ['GET', '/execs?limit=1', undefined],
    ['GET', '/execs/ex-1/output?follow=1', undefined],
    ['GET', '/execs/ex-1/output?encoding=hex', undefined],
    ['POST', '/execs/ex-1/signal', {}],
    ['POST', '/execs/ex-1/signal', { signal: '' }],
    ['GET', '/logs?lines=0', undefined],
    ['GET', '/logs?lines=10001', undefined],
    ['GET', '/logs?follow=yes', undefined],
  ])('refuses %s %s %o', async (method, path, body) => {
    expect((await call(method, `/sandboxes/${ID}${path}`, body)).status).toBe(400);
    expect(http.control.asked).toEqual([]);
  });

  it('returns the last lines, and follows with keepalives', async () => {
    expect((await call('GET', `/sandboxes/${ID}/logs?lines=2`)).json).toEqual(['one', 'two']);
    expect(lastArgs()).toEqual([ID, 2]);
    const stop = new AbortController();
    const answer = await fetch(`${http.base}/sandboxes/${ID}/logs?follow=true`, { signal: stop.signal });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.endsWith('\n\n')) text += (await reader?.read())?.value ?? '';
    expect(text).toBe('{"line":"one"}\n\n');
    stop.abort();
    await until('the abort to arrive', () => http.control.signals.at(-1)?.aborted === true);
  });
});

describe('previews', () => {
  it('get a link with the scheme and port of the call', async () => {
    const { status, json } = await call('POST', `/sandboxes/${ID}/previews`, { port: 8080 });
    expect([status, json]).toMatchObject([200, { url: expect.stringContaining(`//8080-${ID}.`) }]);
    expect(lastArgs()).toEqual([ID, 8080, { scheme: 'http', port: String(http.port) }]);
  });

  it.each([{}, { port: 0 }, { port: 65_536 }, { port: '80' }, { port: 80, ttl: 5 }, { port: 80, x: 1 }])(
    'refuses %o',
    async (body) => {
      expect((await call('POST', `/sandboxes/${ID}/previews`, body)).status).toBe(400);
      expect(http.control.asked).toEqual([]);
    },
  );
});

describe('files', () => {
  const files = `/sandboxes/${ID}/files`;

  it('writes by every route and form', async () => {
    const bytes = Buffer.from([0, 255, 10, 13]);
    const written = (path: string, size: number) => ({
      status: 200,
      json: { status: 'written', path, size, atomic: true },
    });
    expect(await call('PUT', `${files}/raw.bin?mode=600`, bytes)).toMatchObject(written('/raw.bin', 4));
    expect(lastArgs()?.[2]).toEqual({ mode: '600' });
    expect(await call('PUT', `${files}/a/b.txt`, { content: 'ü', mode: '4755' })).toMatchObject(
      written('/a/b.txt', 2),
    );
    expect(
      await call('POST', files, { path: '/c', content: bytes.toString('base64'), encoding: 'base64' }),
    ).toMatchObject(written('/c', 4));
    expect(http.control.fileMap.get('/c')).toEqual(bytes);
    expect(await call('POST', files, { path: '/lone', content: '\ud800' })).toMatchObject({
      ...{
        status: 400,
        json: { code: 'bad_request', message: expect.stringMatching(/^content contains half/) },
      },
    });
  });

  it.each([
    ['PUT', '/f', { content: 'x', mode: '9' }],
    ['PUT', '/f', { content: 'x', encoding: 'hex' }],
    ['PUT', '/f', { content: '*', encoding: 'base64' }],
    ['PUT', '/f', { path: '/f', content: 'x' }],
    ['PUT', '/f?mode=abc', { content: 'x' }],
    ['PUT', '/f?mode=600', { content: 'x', mode: '600' }],
    ['PUT', '/f?moed=600', { content: 'x' }],
    ['POST', '', { content: 'x' }],
    ['POST', '', { path: '', content: 'x' }],
    ['POST', '', undefined],
  ])('refuses %s %s %o', async (method, path, body) => {
    expect((await call(method, files + path, body)).status).toBe(400);
    expect(http.control.asked).toEqual([]);
  });

  it('reads a complete file and ranges', async () => {
    http.control.fileMap.set('/f', Buffer.from('0123456789'));
    const whole = await call('GET', `${files}?path=/f`);
    expect([
      whole.status,
      whole.text,
      whole.headers.get('content-length'),
      whole.headers.get('accept-ranges'),
    ]).toEqual([200, '0123456789', '10', 'bytes']);
    const range = async (value: string) => {
      const { status, text, headers } = await call('GET', `${files}?path=/f`, undefined, { range: value });
      return [status, status < 400 ? text : '', headers.get('content-range')];
    };
    expect(await range('bytes=2-4')).toEqual([206, '234', 'bytes 2-4/10']);
    expect(await range('bytes=8-99')).toEqual([206, '89', 'bytes 8-9/10']);
    expect(await range('bytes=-3')).toEqual([206, '789', 'bytes 7-9/10']);
    expect(await range('bytes=10-')).toEqual([416, '', 'bytes */10']);
    expect(await range('bytes=0-1,3-4')).toEqual([200, '0123456789', null]);
    expect((await call('GET', `${files}?path=/none`)).status).toBe(404);
    expect((await call('GET', files)).status).toBe(400);
  });

  it('lists, finds, moves, changes and deletes', async () => {
    http.control.fileMap.set('/f', Buffer.from('x'));
    expect((await call('GET', `${files}/list`)).json).toHaveLength(1);
    expect(lastArgs()).toEqual([ID, '/', 1]);
    await call('GET', `${files}/list?path=/a%2Bb+c&depth=3`);
    expect(lastArgs()).toEqual([ID, '/a+b c', 3]);
    expect((await call('GET', `${files}/stat?path=/f`)).json).toMatchObject({ name: 'f', size: 1 });
    expect((await call('GET', `${files}/glob?pattern=${encodeURIComponent('/**/*.{c,h}')}`)).json).toEqual([
      '/f',
    ]);
    expect(lastArgs()).toEqual([ID, '/**/*.{c,h}']);
    expect((await call('POST', `${files}/move`, { old_path: '/f', new_path: '/g' })).json).toEqual({
      status: 'moved',
    });
    expect((await call('POST', `${files}/chmod`, { path: '/f', mode: '755' })).json).toEqual({
      status: 'chmod applied',
    });
    expect((await call('POST', `${files}/mkdir`, { path: '/d' })).json).toEqual({ status: 'created' });
    expect(lastArgs()).toEqual([ID, '/d', { parents: true }]);
    expect((await call('DELETE', `${files}?path=/f`)).json).toEqual({ status: 'deleted' });
    expect(lastArgs()).toEqual([ID, '/f', false]);
  });

  it('writes files that are named like operations', async () => {
    for (const name of ['list', 'stat', 'glob', 'move', 'chmod', 'mkdir']) {
      expect((await call('PUT', `${files}/${name}`, { content: '' })).json).toMatchObject({
        path: `/${name}`,
      });
    }
  });

  it('reports a full disk', async () => {
    http.control.failing.set(
      'files.write',
      new ServiceError('resource_limit', 'The disk is full.', { status: 507 }),
    );
    expect(await call('PUT', `${files}/f`, { content: '' })).toMatchObject({
      status: 507,
      json: { code: 'resource_limit' },
    });
  });
});

describe('quotas', () => {
  it.each(['/quotas', '/admin/quotas'])('are kept, listed, used and deleted under %s', async (base) => {
    const limits = { max_sandboxes: 2, max_ttl: '1h', max_exec_timeout: '5m' };
    const saved = await call('PUT', `${base}/a%C3%BC`, limits);
    expect(saved).toMatchObject({ status: 200, json: { owner_id: 'aü', ...limits } });
    expect((await call('PUT', `${base}/bob`, {})).status).toBe(200);
    expect((await call('GET', `${base}/a%C3%BC`)).json).toEqual(saved.json);
    const page = await call('GET', `${base}?limit=1`);
    expect([(page.json as object[]).length, page.headers.get('x-next-cursor')]).toEqual([1, '1']);
    expect((await call('GET', `${base}/summary`)).json).toMatchObject({ total: 2 });
    expect((await call('GET', `${base}/bob/usage`)).json).toMatchObject({ quota_configured: true });
    expect((await call('DELETE', `${base}/bob`)).json).toEqual({ status: 'deleted' });
    expect((await call('DELETE', `${base}/bob`)).status).toBe(404);
    expect((await call('GET', `${base}/bob`)).status).toBe(404);
    expect((await call('GET', `${base}/bob/usage`)).status).toBe(200);
    expect((await call('DELETE', `${base}/a%C3%BC`)).status).toBe(200);
  });

  it('refuse a body that is not a quota', async () => {
    for (const body of [{ max_sandboxes: -1 }, { max_sandboxes: 1.5 }, { max_ttl: 1 }, { owner_id: 'x' }, []])
      expect((await call('PUT', '/quotas/ann', body)).status).toBe(400);
    expect(http.control.asked).toEqual([]);
  });
});

describe('admission', () => {
  it('accepts the fields of a spawn', async () => {
    const { status, json } = await call('POST', '/sandboxes/admission', { ttl: '1h', owner_id: 'ann' });
    expect([status, (json as { queueable: boolean }).queueable]).toEqual([200, true]);
    expect(lastArgs()).toEqual([{ ttl: '1h', owner_id: 'ann' }]);
    expect((await call('POST', '/sandboxes/admission')).status).toBe(200);
    expect((await call('POST', '/sandboxes/admission', { tll: '1h' })).status).toBe(400);
  });
});

describe('providers and the system', () => {
  it('shows providers', async () => {
    expect((await call('GET', '/providers')).json).toHaveLength(1);
    expect((await call('GET', '/providers/userspace')).json).toMatchObject({ kind: 'userspace' });
    expect((await call('GET', '/providers/none')).status).toBe(404);
  });

  it('shows how full the pool is', async () => {
    expect(await call('GET', '/pool/status')).toMatchObject({
      status: 200,
      json: { enabled: true, vms: 1, max_vms: 10, total_users: 2, max_users_per_vm: 5 },
    });
  });

  it('lists the snapshots that sandboxes start from', async () => {
    expect(await call('GET', '/snapshots')).toMatchObject({
      status: 200,
      json: [{ image: 'debian:12', kernel: '6.1.0', size: 4096, provider: 'microvm' }],
    });
  });

  it('reports liveness, readiness and health', async () => {
    expect((await call('GET', '/live')).json).toMatchObject({ status: 'alive', version: '9.9.9' });
    expect((await call('GET', '/ready')).json).toMatchObject({ status: 'ready', total_providers: 1 });
    expect((await call('GET', '/health')).json).toMatchObject({ status: 'ok', uptime_seconds: 1 });
    http.control.healthy = false;
    expect(await call('GET', '/ready')).toMatchObject({
      status: 503,
      json: { code: 'unavailable', status: 'not_ready', ready_providers: 0 },
    });
    http.control.healthy = true;
  });

  it('returns events', async () => {
    const { status, text } = await call('GET', '/events?follow=false');
    expect([status, text]).toEqual([200, 'retry: 2000\nid: 0\n\n']);
  });

  it('returns metrics as JSON and as text, and diagnostics', async () => {
    expect((await call('GET', '/metrics')).json).toMatchObject({ store: { status: 'ok' } });
    const text = await call('GET', '/metrics/prometheus');
    expect([text.headers.get('content-type'), text.text]).toEqual([
      'text/plain; version=0.0.4; charset=utf-8',
      '# HELP up Is it.\n',
    ]);
    expect((await call('GET', '/diagnostics')).json).toMatchObject({ build: { version: '9.9.9' } });
    expect(lastArgs()).toEqual([{ logs: false }]);
    expect((await call('GET', '/diagnostics?logs=true')).status).toBe(400);
    expect((await call('GET', '/admin/metrics')).json).toEqual((await call('GET', '/metrics')).json);
    expect((await call('GET', '/admin/metrics/prometheus')).text).toBe(text.text);
    expect((await call('GET', '/admin/diagnostics')).json).not.toHaveProperty('logs');
    expect((await call('GET', '/admin/diagnostics?logs=true')).json).toMatchObject({
      logs: [{ message: 'hello' }],
    });
    expect(lastArgs()).toEqual([{ logs: true }]);
    expect((await call('GET', '/admin/diagnostics?logs=yes')).status).toBe(400);
    http.control.failing.set('metrics.body', new ServiceError('unavailable', 'No database.'));
    expect(await call('GET', '/metrics')).toMatchObject({ status: 503, json: { code: 'unavailable' } });
  });

  it('describes itself', async () => {
    expect((await call('GET', '/openapi.json')).json).toMatchObject({
      openapi: '3.1.0',
      info: { version: '9.9.9' },
    });
    expect((await call('GET', '/openapi.yaml')).text).toContain('openapi: "3.1.0"');
  });

  it('answers HEAD as GET without the body', async () => {
    const answer = await fetch(`${http.base}/live`, { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    expect((await fetch(`${http.base}/sandboxes/x/files?path=/f`, { method: 'HEAD' })).status).toBe(405);
  });
});

describe('failures', () => {
  const error = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(http.base + path, init);
    return {
      status: answer.status,
      allow: answer.headers.get('allow'),
      body: (await answer.json()) as Record<string, unknown>,
      id: answer.headers.get('x-request-id'),
    };
  };

  it.each([
    ['PATCH', '/sandboxes', 'GET, HEAD, POST, DELETE'],
    ['PUT', '/sandboxes/x', 'GET, HEAD, DELETE'],
    ['GET', '/sandboxes/x/exec', 'POST'],
    ['OPTIONS', '/sandboxes/x/files', 'GET, POST, DELETE'],
    ['DELETE', '/sandboxes/x/files/list', 'GET, HEAD, PUT'],
    ['GET', '/sandboxes/x/files/any/where', 'PUT'],
    ['DELETE', '/live', 'GET, HEAD'],
    ['PROPFIND', '/live', 'GET, HEAD'],
    // Names that the API has for itself are not those of an owner, a provider or a sandbox.
    ['OPTIONS', '/quotas/summary', 'GET, HEAD'],
    ['PUT', '/quotas/summary', 'GET, HEAD'],
    ['DELETE', '/admin/quotas/summary', 'GET, HEAD'],
    ['DELETE', '/admin/quotas/%73ummary', 'GET, HEAD'],
    ['GET', '/admin/providers/test', 'POST'],
    ['DELETE', '/sandboxes/prune', 'POST'],
    ['GET', '/sandboxes/admission', 'POST'],
  ])('%s %s answers 405 with Allow', async (method, path, allow) => {
    expect(await error(path, { method })).toMatchObject({
      status: 405,
      allow,
      body: { code: 'method_not_allowed' },
    });
  });

  it('names the reserved name', async () => {
    const { body } = await error('/quotas/summary', { method: 'PUT' });
    expect(body.message).toBe('This path does not support this method: the name summary is reserved.');
  });

  it.each([
    '/',
    '/nope',
    '/sandboxes/x/',
    '/sandboxes//x',
    '/sandboxes/x/nothing',
    '/SANDBOXES',
    '/administrators',
  ])('%s answers 404', async (path) => {
    const { status, body, id } = await error(path);
    expect([status, body.code, body.request_id]).toEqual([404, 'not_found', id]);
  });

  it('refuses an empty id: an extra slash destroys nothing', async () => {
    expect(await error('/sandboxes/', { method: 'DELETE' })).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
    expect(http.control.asked).toEqual([]);
  });

  it('echoes a valid request id and replaces any other', async () => {
    const ask = async (given: string) =>
      (await error('/nope', { headers: { 'x-request-id': given } })).body.request_id;
    expect(await ask('Trace.1_2-3')).toBe('Trace.1_2-3');
    for (const bad of ['a b', 'x'.repeat(129), 'a/b', '<x>', ''])
      expect(await ask(bad)).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('hides internal errors and logs their cause under the request id', async () => {
    http.control.failing.set('sandboxes.get', new Error('/secret/path: SQLITE_CORRUPT'));
    const { status, body } = await error('/sandboxes/x');
    expect([status, body.code]).toEqual([500, 'internal']);
    expect(JSON.stringify(body)).not.toMatch(/secret|SQLITE|stack/);
    const line = http.logger.lines.find(
      ({ level, fields }) => level === 'error' && fields.request_id === body.request_id,
    );
    expect(String(line?.fields.cause)).toContain('SQLITE_CORRUPT');
  });

  it('logs no error for a failure that is not internal', async () => {
    http.logger.lines.length = 0;
    const full = new ServiceError('resource_limit', 'The disk of the sandbox is full.', { status: 507 });
    http.control.failing.set('sandboxes.get', full);
    expect((await error('/sandboxes/x')).status).toBe(507);
    http.control.failing.set('sandboxes.get', new ServiceError('not_implemented', 'There are none here.'));
    expect((await error('/sandboxes/x')).status).toBe(501);
    const leaving = new AbortController();
    const asked = http.control.signals.length;
    const left = fetch(`${http.base}/sandboxes/x/exec`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ command: 'wait' }),
      signal: leaving.signal,
    });
    await until('it runs', () => http.control.signals.length > asked);
    leaving.abort();
    await expect(left).rejects.toThrow();
    await until('the request is over', () =>
      http.logger.lines.find(({ fields }) => fields.route === '/sandboxes/{id}/exec'),
    );
    expect(http.logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('writes one access line a request, at debug for probes, and never the path', async () => {
    http.logger.lines.length = 0;
    await error('/sandboxes/sb-secretname');
    await (await fetch(`${http.base}/live`)).text();
    const lines = http.logger.lines.filter(({ message }) => message === 'request');
    expect(lines.map(({ level, fields }) => [level, fields.route, fields.status])).toEqual([
      ['info', '/sandboxes/{id}', 404],
      ['debug', '/live', 200],
    ]);
    expect(lines[0]?.fields).toMatchObject({
      method: 'GET',
      remote_address: '127.0.0.1',
      sandbox_id: 'sb-secretname',
      ms: expect.any(Number),
    });
  });
});
