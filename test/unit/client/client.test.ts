// The client against the real HTTP server: every call, and what it makes of failures.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../../src/client/client.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import { ADMIN_KEY, API_KEY, startHttp, type TestHttp } from '../../support/servers/http-server.ts';
import { until } from '../../support/until.ts';

describe('the client', () => {
  let http: TestHttp;
  let client: Client;
  beforeAll(async () => {
    http = await startHttp({ auth: { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY } });
    client = new Client({ server: http.url, apiKey: API_KEY, user: 'ann' });
  });
  afterAll(async () => {
    await client.close();
    await http.server.close(0);
  });
  const lastAsked = () => http.control.asked.at(-1);

  it('spawns, gets, extends, destroys and prunes', async () => {
    const sandbox = await client.spawn({ ttl: '1h', metadata: { a: 'b' } }, { idempotencyKey: 'key-1' });
    expect(lastAsked()).toMatchObject({
      method: 'sandboxes.spawn',
      args: [{ ttl: '1h', metadata: { a: 'b' } }, { idempotencyKey: 'key-1' }],
      caller: { role: 'api', owner: 'ann' },
    });
    expect(await client.get(sandbox.id)).toEqual(sandbox);
    expect((await client.extend(sandbox.id, '2h')).id).toBe(sandbox.id);
    expect(lastAsked()?.args).toEqual([sandbox.id, { ttl: '2h' }]);
    await client.destroy(sandbox.id);
    expect(lastAsked()?.method).toBe('sandboxes.destroy');
    expect(await client.prune()).toEqual({ pruned: 3 });
  });

  it('asks for admission, and keeps quotas', async () => {
    expect(await client.admission({ ttl: '1h' })).toMatchObject({ allowed: false, queueable: true });
    const quota = await client.quotas.set('ü b'.replace(' ', ''), { max_sandboxes: 3 });
    expect(quota).toMatchObject({ owner_id: 'üb', max_sandboxes: 3 });
    for (let i = 0; i < 3; i += 1) await client.quotas.set(`o${i}`, {});
    expect((await client.quotas.page({ limit: 1 })).next_cursor).toBe('1');
    expect(await client.quotas.list()).toHaveLength(4);
    expect(await client.quotas.get('üb')).toEqual(quota);
    expect(await client.quotas.usage('üb')).toMatchObject({ quota_configured: true });
    expect(await client.quotas.summary()).toMatchObject({ total: 4 });
    // Its path is that of the summary.
    await expect(client.quotas.get('summary')).rejects.toMatchObject({ code: 'bad_request' });
    await client.quotas.delete('üb');
    await expect(client.quotas.get('üb')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('reads all pages, and stops at the requested number', async () => {
    for (let i = 0; i < 7; i += 1) await client.spawn();
    const ids: string[] = [];
    for await (const { id } of client.list({ limit: 3 })) ids.push(id);
    expect(ids).toEqual([...http.control.sandboxMap.keys()].reverse());
    expect(await client.listAll({}, 5)).toHaveLength(5);
    expect((await client.page({ limit: 3, 'metadata.a': 'b' })).next_cursor).toBe('3');
    expect(lastAsked()?.args[0]).toEqual({ limit: 3, 'metadata.a': 'b' });
  });

  it('runs commands, plain and streamed', async () => {
    expect((await client.exec('sb-1', { command: 'hello' })).stdout).toBe('hello');
    const lines = [];
    for await (const line of client.execStream('sb-1', { command: 'grüße\n\u2028' })) lines.push(line);
    expect(lines.map(({ stream, data }) => [stream, data])).toEqual([
      ['start', ''],
      ['stdout', 'grüße\n\u2028'],
      ['exit', ''],
    ]);
  });

  it('closes the connection when the caller leaves a stream', async () => {
    for await (const line of client.execStream('sb-1', { command: 'wait' }))
      if (line.stream === 'start') break;
    await until('the signal aborts', () => http.control.signals.at(-1)?.aborted);
  });

  it('fails a stream with the reason of the abort', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    const read = async () => {
      for await (const line of client.execStream('sb-1', { command: 'wait' }, abort.signal))
        if (line.stream === 'start') abort.abort(reason);
    };
    await expect(read()).rejects.toBe(reason);
    await until('the signal aborts', () => http.control.signals.at(-1)?.aborted);
  });

  it('moves files both ways as bytes', async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 256));
    const path = '/workspace/a b%2F?#ü/../ü.bin';
    expect((await client.files.write('sb-1', path, bytes, { mode: '600' })).size).toBe(bytes.length);
    expect(lastAsked()?.args).toEqual(['sb-1', path, { mode: '600' }]);
    expect((await client.files.read('sb-1', path)).equals(bytes)).toBe(true);
    const part = await client.files.open('sb-1', path, { range: 'bytes=10-19' });
    expect(Buffer.concat(await part.content.toArray())).toEqual(bytes.subarray(10, 20));
    await client.files.write('sb-1', '/streamed', Readable.from([Buffer.from('ab'), Buffer.from('cd')]));
    expect(http.control.fileMap.get('/streamed')?.toString()).toBe('abcd');
    expect((await client.files.stat('sb-1', path)).size).toBe(bytes.length);
    expect(await client.files.glob('sb-1', '/*')).toContain('/streamed');
    expect(await client.files.list('sb-1')).toHaveLength(2);
    await client.files.move('sb-1', '/a', '/b');
    await client.files.chmod('sb-1', '/a', '700');
    await client.files.mkdir('sb-1', '/a', { parents: false });
    await client.files.remove('sb-1', '/a', { recursive: true });
    expect(http.control.asked.slice(-4).map(({ method, args }) => [method, args.slice(1)])).toEqual([
      ['files.move', ['/a', '/b']],
      ['files.chmod', ['/a', '700']],
      ['files.mkdir', ['/a', { parents: false }]],
      ['files.remove', ['/a', true]],
    ]);
  });

  it('reads providers and health', async () => {
    expect((await client.system.providers())[0]?.name).toBe('userspace');
    expect((await client.system.provider('userspace')).isolation).toEqual({ network: 'namespace' });
    expect((await client.system.live()).version).toBe('9.9.9');
    expect((await client.system.health()).uptime_seconds).toBe(1);
    http.control.healthy = false;
    await expect(client.system.ready()).rejects.toMatchObject({ code: 'unavailable', status: 503 });
    http.control.healthy = true;
    expect((await client.system.ready()).status).toBe('ready');
  });

  it("keeps the server's code, message, details and request id", async () => {
    http.control.failing.set(
      'sandboxes.get',
      new ServiceError('timeout', 'Too late.', {
        remedy: 'Ask earlier.',
        details: { stdout: 'x' },
        retryAfterMs: 1_500,
      }),
    );
    const failure = (await client.get('sb-1').catch((error: unknown) => error)) as ServiceError;
    http.control.failing.clear();
    expect(failure).toBeInstanceOf(ServiceError);
    expect(failure).toMatchObject({
      code: 'timeout',
      status: 408,
      message: 'Too late. Ask earlier.',
      retryAfterMs: 2_000,
      details: { stdout: 'x', request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    });
    await expect(new Client({ server: http.url }).get('sb-1')).rejects.toMatchObject({
      code: 'unauthorized',
      exitCode: 6,
      hint: 'api_key',
    });
  });
});

describe('a client with an unreachable or foreign server', () => {
  let server: Server;
  let reply: (url: string) => { status: number; body: string };
  let address: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const { status, body } = reply(request.url ?? '');
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.closeAllConnections() ?? server.close());

  it('suggests to start the server when nothing listens', async () => {
    const failure = new Client({ server: 'http://127.0.0.1:9' }).get('sb-1');
    await expect(failure).rejects.toMatchObject({
      code: 'unavailable',
      hint: 'server_address',
      remedy: 'Start the server: svc serve',
    });
  });

  it.each(['127.0.0.1:7423', 'ftp://x', 'http://x/path', 'http://u:p@x', 'nonsense', ''])(
    'refuses the address %j',
    (server) => {
      expect(() => new Client({ server })).toThrow(ServiceError);
    },
  );

  it.each(['http://x', 'http://x/', 'http://x/api/v1', 'http://x/api/v1/'])('accepts the server %j', (at) => {
    expect(() => new Client({ server: at, user: '日本' })).not.toThrow();
  });

  it.each(['http://x/api', 'http://x/api/v2', 'ftp://x', 'x'])('refuses the server %j', (at) => {
    expect(() => new Client({ server: at })).toThrow(ServiceError);
  });

  it.each(['a\nb', 'a\0', 'x\r\nX-Admin-API-Key: y'])('refuses the user %j', (user) => {
    expect(() => new Client({ server: 'http://x', user })).toThrow(ServiceError);
  });

  it.each([
    ['<html>', 502],
    ['{"code":"nope","message":"m"}', 500],
    ['{"code":"toString","message":"m"}', 500],
    ['null', 400],
    ['', 404],
    ['not json', 200],
  ])('refuses %j as an answer', async (body, status) => {
    reply = () => ({ status, body });
    await expect(new Client({ server: address }).get('sb-1')).rejects.toMatchObject({ code: 'internal' });
  });

  it.each([
    ['{"stream":"stdout","data":"x"}\nnot json\n', 'not JSON'],
    [`${'x'.repeat(17_000_000)}\n`.slice(0, -1), 'too long'],
  ])('refuses a hostile stream', async (body, words) => {
    reply = () => ({ status: 200, body });
    const read = async () => {
      for await (const line of new Client({ server: address }).execStream('sb-1', { command: 'x' }))
        void line;
    };
    await expect(read()).rejects.toThrow(words);
  });
});
