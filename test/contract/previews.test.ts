// The preview gateway over a fake control plane, with guests of this machine: what passes and what does not, both ways.
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import WebSocket, { WebSocketServer } from 'ws';
import { API_KEY, rawExchange, startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { valuesIn, visit } from '../support/servers/preview-visit.ts';
import { until } from '../support/until.ts';

const ID = 'sb-known0000000';
const DOMAIN = 'preview.test';
const name = (port: number, id = ID) => `${port}-${id}.${DOMAIN}`;
const server = { preview_domain: DOMAIN };
const signed = { ...server, preview_access: 'signed' as const };

let open: TestHttp;
let shut: TestHttp;
let guest: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};
const seen: IncomingMessage[] = [];

beforeAll(async () => {
  guest = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  });
  const sockets = new WebSocketServer({ server: guest });
  sockets.on('connection', (ws, request) => {
    seen.push(request);
    ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
  });
  guest.listen(0, '127.0.0.1');
  await once(guest, 'listening');
  [open, shut] = await Promise.all([
    startHttp({ server: { ...server, trusted_proxies: ['10.0.0.0/8'] } }),
    startHttp({
      server: { ...signed, trusted_proxies: ['127.0.0.1'] },
      auth: { enabled: true, api_key: API_KEY },
    }),
  ]);
  for (const { control } of [open, shut])
    control.previews.ports.set(8080, (guest.address() as AddressInfo).port);
});
afterAll(async () => {
  await Promise.all([open.server.close(0), shut.server.close(0)]);
  guest.closeAllConnections();
  guest.close();
});
afterEach(async () => {
  for (const { control } of [open, shut]) await until('no tunnel', () => control.previews.tunnels.size === 0);
  seen.length = 0;
  answer = () => {};
});

const plain = (text: string) => (_: IncomingMessage, response: ServerResponse) => void response.end(text);
const echo = (request: IncomingMessage, response: ServerResponse) => void request.pipe(response);

describe('requests', () => {
  it('reach the port with method, path, query, headers and body unchanged', async () => {
    answer = echo;
    const path = '/a//b/..%2f/%zz?x=%20&&y';
    const found = await visit(open.port, `${name(8080)}:1234`, path, {
      method: 'PUT',
      headers: { 'X-Mine': ['one', 'two'], Cookie: 'a=b', Authorization: 'Basic YTpi' },
      body: 'hello',
    });
    expect(found).toMatchObject({ status: 200, text: 'hello' });
    expect(seen[0]).toMatchObject({ method: 'PUT', url: path });
    expect(seen[0]?.headers).toMatchObject({
      host: `${name(8080)}:1234`,
      'x-mine': 'one, two',
      ...{ cookie: 'a=b', authorization: 'Basic YTpi', 'content-length': '5' },
    });
  });

  it('carry their true origin in forwarding headers, never a claimed one', async () => {
    answer = plain('');
    const headers = {
      ...{ 'X-Forwarded-For': '6.6.6.6', 'X-Forwarded-Proto': 'https', X_Forwarded_Host: 'evil.test' },
      ...{ Forwarded: 'for=6.6.6.6', 'X-Real-IP': '6.6.6.6', 'X-Forwarded-Prefix': '/evil' },
      'X-Request-ID': 'mine-1',
    };
    const found = await visit(open.port, name(8080), '/', { headers });
    expect(found.headers['x-request-id']).toBe('mine-1');
    const { 'x-forwarded-for': from, 'x-forwarded-proto': scheme, ...rest } = seen[0]!.headers;
    expect([from, scheme, rest['x-forwarded-host']]).toEqual(['127.0.0.1', 'http', name(8080)]);
    expect(rest['x-request-id']).toBe('mine-1');
    expect(JSON.stringify(seen[0]!.rawHeaders)).not.toMatch(/evil|6\.6\.6\.6/);
    const token = `svc_preview=${shut.control.previews.token(ID, 8080)}`;
    const proxied = { 'X-Forwarded-For': '9.9.9.9', 'X-Forwarded-Proto': 'https', Cookie: token };
    await visit(shut.port, name(8080), '/', { headers: proxied });
    expect(seen[1]!.headers).toMatchObject({
      'x-forwarded-for': '9.9.9.9, 127.0.0.1',
      'x-forwarded-proto': 'https',
    });
  });

  it('never carry our credentials or the headers of the connection', async () => {
    answer = plain('');
    const headers = {
      ...{
        'X-API-Key': API_KEY,
        'X-Admin-API-Key': 'k',
        'X-User-ID': 'ann',
        x_api_key: 'k',
        'X-Worker-Token': 'k',
      },
      ...{ Cookie: 'a=1; svc_preview=t.t; __Host-svc_preview=t.t; b=2', 'Proxy-Authorization': 'Basic x' },
      ...{ Connection: 'keep-alive, X-Once, Host', 'X-Once': 'k', 'Keep-Alive': 'timeout=9', TE: 'trailers' },
      'Proxy-Connection': 'keep-alive',
    };
    await visit(open.port, name(8080), '/?svc_preview=t&a=b', { headers });
    const names = seen[0]!.rawHeaders.filter((_, at) => at % 2 === 0).map((one) => one.toLowerCase());
    expect(names.sort()).toEqual(
      [
        ...['connection', 'cookie', 'host', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
        'x-request-id',
      ].sort(),
    );
    expect(seen[0]).toMatchObject({
      url: '/?a=b',
      headers: { cookie: 'a=1; b=2', connection: 'keep-alive' },
    });
  });

  it('stream both ways, at the pace of the slower side', async () => {
    answer = (request, response) => {
      response.writeHead(200);
      response.flushHeaders();
      request.on('data', (part) => response.write(`<${part}>`)).on('end', () => response.end());
    };
    const socket = connect(open.port, '127.0.0.1').setEncoding('utf8');
    let text = '';
    socket.on('data', (part) => {
      text += part;
    });
    socket.write(`POST / HTTP/1.1\r\nHost: ${name(8080)}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    await until('the head', () => text.includes('\r\n\r\n'));
    for (const part of ['one', 'two']) {
      socket.write(`3\r\n${part}\r\n`);
      await until(part, () => text.includes(`<${part}>`));
    }
    socket.write('0\r\n\r\n');
    await until('the end', () => text.endsWith('0\r\n\r\n'));
    socket.destroy();
  });

  it('do not fill memory while a visitor or a guest does not read', async () => {
    const piece = Buffer.alloc(256 * 1024);
    let sent = 0;
    answer = (_, response) => {
      const more = () => {
        sent += 1;
        if (sent < 512) response.write(piece, more);
      };
      more();
    };
    const socket = connect(open.port, '127.0.0.1').pause();
    socket.write(`GET / HTTP/1.1\r\nHost: ${name(8080)}\r\n\r\n`);
    await until('the guest waits', () => sent > 0 && seen.length === 1);
    await settled(() => sent);
    expect(sent).toBeLessThan(200);
    socket.destroy();
    answer = (request) => void request.pause();
    const upload = connect(open.port, '127.0.0.1');
    upload.write(`PUT / HTTP/1.1\r\nHost: ${name(8080)}\r\nContent-Length: ${512 * piece.length}\r\n\r\n`);
    let taken = 0;
    const more = () => {
      taken += 1;
      if (taken < 512) upload.write(piece, more);
    };
    more();
    await until('the guest is asked', () => seen.length === 2);
    await settled(() => taken);
    expect(taken).toBeLessThan(200);
    upload.destroy();
    // Nobody reads the connection, so that its end cannot be seen either; the guest's can.
    seen[1]?.socket.destroy();
  });

  it('share the connection of the visitor, and each opens one to the guest', async () => {
    answer = plain('x');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let n = 0; n < 3; n++)
      expect(await visit(open.port, name(8080), '/', { agent })).toMatchObject({ text: 'x' });
    agent.destroy();
    expect(new Set(seen.map(({ socket }) => socket)).size).toBe(3);
  });

  it.each([
    ['without a body', 'GET', ''],
    ['whose body has started', 'POST', 'Content-Length: 1000000\r\n\r\nbegun'],
  ])('%s end at the guest when the visitor leaves', async (_, method, rest) => {
    const socket = connect(open.port, '127.0.0.1');
    socket.write(`${method} / HTTP/1.1\r\nHost: ${name(8080)}\r\n${rest || '\r\n'}`);
    await until('the guest is asked', () => seen.length === 1);
    socket.destroy();
    await until('the guest sees the end', () => seen[0]?.socket.destroyed === true);
  });

  it.each([
    ['a second Host', `GET / HTTP/1.1\r\nHost: ${name(8080)}\r\nHost: localhost\r\n\r\n`, 400],
    [
      'another host in the request target',
      `GET http://localhost/api/v1/live HTTP/1.1\r\nHost: ${name(8080)}\r\n\r\n`,
      400,
    ],
    [
      'both a length and a coding',
      `POST / HTTP/1.1\r\nHost: ${name(8080)}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'two lengths',
      `POST / HTTP/1.1\r\nHost: ${name(8080)}\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`,
      400,
    ],
    ['a signed length', `POST / HTTP/1.1\r\nHost: ${name(8080)}\r\nContent-Length: +3\r\n\r\nabc`, 400],
    [
      'another coding',
      `POST / HTTP/1.1\r\nHost: ${name(8080)}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'a coding twice',
      `POST / HTTP/1.1\r\nHost: ${name(8080)}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'a coding with a space',
      `POST / HTTP/1.1\r\nHost: ${name(8080)}\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'an invalid chunk',
      `POST / HTTP/1.1\r\nHost: ${name(8080)}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
    ],
    ['a folded line', `GET / HTTP/1.1\r\nHost: ${name(8080)}\r\nA: b\r\n c\r\n\r\n`, 400],
    ['a bare line feed', `GET / HTTP/1.1\nHost: ${name(8080)}\n\n`, 400],
    ['a NUL', `GET / HTTP/1.1\r\nHost: ${name(8080)}\r\nA: b\0c\r\n\r\n`, 400],
    ['TRACE', `TRACE / HTTP/1.1\r\nHost: ${name(8080)}\r\n\r\n`, 405],
    ['CONNECT', `CONNECT ${name(8080)}:80 HTTP/1.1\r\nHost: ${name(8080)}\r\n\r\n`, 405],
    [
      'a head that is too large',
      `GET / HTTP/1.1\r\nHost: ${name(8080)}\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
  ])('with %s are refused and never reach the port complete', async (_, bytes, status) => {
    answer = plain('reached');
    // The end of the first three is plain: what follows is a request of its own.
    const isFramed = /^(?:GET \/ HTTP\/1\.1\r\nHost: \S+\r\nHost|GET http|TRACE)/.test(bytes);
    const smuggled = `GET /smuggled HTTP/1.1\r\nHost: ${name(8080)}\r\n\r\n`;
    const { text } = await rawExchange(open.port, bytes + smuggled, 1500);
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(text.includes('reached')).toBe(isFramed);
  });

  it('with other methods and to * pass too', async () => {
    answer = (request, response) => void response.end(`${request.method} ${request.url}`);
    expect(await visit(open.port, name(8080), '/x', { method: 'PROPFIND' })).toMatchObject({
      text: 'PROPFIND /x',
    });
    expect(await visit(open.port, name(8080), '*', { method: 'OPTIONS' })).toMatchObject({
      text: 'OPTIONS *',
    });
    expect(await visit(open.port, name(8080), '/', { method: 'HEAD' })).toMatchObject({
      status: 200,
      text: '',
    });
    const old = await rawExchange(open.port, `GET / HTTP/1.0\r\nHost: ${name(8080)}\r\n\r\n`);
    expect(old).toMatchObject({ closed: true, text: expect.stringContaining('GET /') });
  });
});

describe('answers', () => {
  it('arrive without headers of the connection, orders to a proxy, and cookies for others', async () => {
    answer = (_, response) => {
      response.writeHead(418, 'A Teapot', [
        ...[
          'Set-Cookie',
          'a=1',
          'Set-Cookie',
          `b=2; Domain=${name(8080)}`,
          'Set-Cookie',
          `c=3; Domain=.${DOMAIN}`,
        ],
        ...[
          'Set-Cookie',
          'd=4; path=/; DOMAIN = test',
          'Set-Cookie',
          'svc_preview=mine',
          'Set-Cookie',
          '__Host-svc_preview=x',
        ],
        ...[
          'Connection',
          'close, X-Once',
          'X-Once',
          'k',
          'Keep-Alive',
          'timeout=1',
          'X-Accel-Redirect',
          '/etc',
          'X-Sendfile',
          '/etc',
        ],
        ...[
          'X-Mine',
          'one',
          'X-Mine',
          'two',
          'Proxy-Authenticate',
          'Basic',
          'Upgrade',
          'h2c',
          'X-Request-ID',
          'fake',
        ],
      ]);
      response.end('short and stout');
    };
    const found = await visit(open.port, name(8080));
    expect(found).toMatchObject({ status: 418, text: 'short and stout' });
    expect(valuesIn(found, 'set-cookie')).toEqual(['a=1', `b=2; Domain=${name(8080)}`]);
    expect(valuesIn(found, 'x-mine')).toEqual(['one', 'two']);
    expect(valuesIn(found, 'x-request-id')).toEqual([expect.not.stringContaining('fake')]);
    for (const gone of ['x-once', 'x-accel-redirect', 'x-sendfile', 'proxy-authenticate', 'upgrade'])
      expect(found.headers[gone]).toBeUndefined();
  });

  it('carry events as they happen, and end with the server', async () => {
    const own = await startHttp({ server });
    own.control.previews.ports.set(8080, (guest.address() as AddressInfo).port);
    let push: ServerResponse | undefined;
    answer = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      push = response;
    };
    const socket = connect(own.port, '127.0.0.1').setEncoding('utf8');
    let text = '';
    socket.on('data', (part) => {
      text += part;
    });
    socket.write(`GET / HTTP/1.1\r\nHost: ${name(8080)}\r\n\r\n`);
    await until('the head', () => text.includes('\r\n\r\n'));
    push?.write('data: one\n\n');
    await until('an event', () => text.includes('data: one'));
    const begin = performance.now();
    await Promise.all([own.server.close(30_000), once(socket, 'close')]);
    expect(performance.now() - begin).toBeLessThan(20_000);
    expect(own.control.previews.tunnels.size).toBe(0);
  });

  it('before the end of the body leave the connection usable', async () => {
    answer = (request, response) => {
      response.writeHead(413).end('too much');
      request.resume();
    };
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const body = Buffer.alloc(3_000_000);
    expect(await visit(open.port, name(8080), '/', { method: 'POST', body, agent })).toMatchObject({
      status: 413,
    });
    answer = plain('next');
    expect(await visit(open.port, name(8080), '/', { agent })).toMatchObject({ text: 'next' });
    agent.destroy();
  });
});

describe('names', () => {
  it('of previews never reach the API, and other names never reach a preview', async () => {
    answer = plain('guest');
    for (const host of [name(8080), name(8080).toUpperCase(), `${name(8080)}.`, `${name(8080)}:7423`])
      expect(await visit(open.port, host, '/api/v1/live')).toMatchObject({ text: 'guest' });
    for (const host of [
      `0-${ID}.${DOMAIN}`,
      `65536-${ID}.${DOMAIN}`,
      `08080-${ID}.${DOMAIN}`,
      `8080-.${DOMAIN}`,
      `a.${name(8080)}`,
      `8080-${ID}-.${DOMAIN}`,
    ])
      expect(await visit(open.port, host, '/api/v1/live')).toMatchObject({
        status: 404,
        text: expect.stringContaining('No preview'),
      });
    for (const host of ['localhost', '127.0.0.1', `localhost:${open.port}`])
      expect(await visit(open.port, host, '/api/v1/live')).toMatchObject({
        text: expect.stringContaining('alive'),
      });
    for (const host of [
      DOMAIN,
      `api.${DOMAIN}`,
      `${name(8080)}.evil.test`,
      `8080-${ID}.evil.test`,
      `x${DOMAIN}`,
    ])
      expect(await visit(open.port, host, '/api/v1/live')).toMatchObject({ status: 403 });
  });

  it('of previews mean nothing without a configured domain', async () => {
    const bare = await startHttp();
    expect(await visit(bare.port, name(8080), '/api/v1/live')).toMatchObject({ status: 403 });
    expect(await visit(bare.port, `8080-${ID}.localhost`, '/api/v1/live')).toMatchObject({ status: 200 });
    await bare.server.close(0);
  });

  it.each([
    ['text/html,*/*', 'text/html', '<h1>'],
    ['application/json', 'application/json', '"code":"unavailable"'],
  ])('of ports where nothing listens explain this to %s', async (accept, type, words) => {
    const found = await visit(open.port, name(9), '/<script>', { headers: { accept } });
    expect(found).toMatchObject({ status: 502, text: expect.stringContaining(words) });
    expect(found.headers['content-type']).toContain(type);
    expect(found.headers['cache-control']).toBe('no-store');
    expect(found.text).not.toContain('<script>');
    expect(found.headers['x-request-id']).toBeDefined();
  });
});

describe('signed access', () => {
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET', port = 8080) =>
    visit(shut.port, name(port), path, { headers, method });
  const token = (port = 8080, id = ID, ms = 60_000) => shut.control.previews.token(id, port, ms);

  it('refuses a visitor without a link, without a look at the sandbox', async () => {
    shut.control.asked.length = 0;
    const wrong = [
      token(8081),
      token(8080, 'sb-other0000000'),
      token(8080, ID, -1),
      `${token()}x`,
      'a.b',
      '',
    ];
    expect(await ask('/')).toMatchObject({ status: 401 });
    for (const one of wrong) {
      expect(await ask(`/?svc_preview=${one}`)).toMatchObject({ status: 401 });
      expect(await ask('/', { cookie: `svc_preview=${one}` })).toMatchObject({ status: 401 });
    }
    expect(await ask('/', { 'x-api-key': API_KEY })).toMatchObject({ status: 401 });
    expect(shut.control.asked).toEqual([]);
  });

  it('turns a link into a cookie for this host only', async () => {
    answer = (request, response) => void response.end(request.url);
    const found = await ask(`/a?x=1&svc_preview=${token()}&y=2`);
    expect(found.status).toBe(302);
    expect(found.headers).toMatchObject({
      location: '/a?x=1&y=2',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    const [cookie = ''] = found.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^svc_preview=[^;]+; Path=\/; Max-Age=(59|60); HttpOnly; SameSite=Lax$/);
    const [held = ''] = cookie.split(';');
    expect(await ask('/a?x=1', { cookie: `other=1; ${held}` })).toMatchObject({
      status: 200,
      text: '/a?x=1',
    });
    expect(seen.at(-1)?.headers.cookie).toBe('other=1');
    const secure = await ask(`/?svc_preview=${token()}`, { 'x-forwarded-proto': 'https' });
    expect(secure.headers['set-cookie']?.[0]).toMatch(/^__Host-svc_preview=.*; Secure$/);
  });

  it('never redirects to another host', async () => {
    for (const path of ['//evil.test/x', '/\\evil.test/x', '///evil.test/x'])
      expect((await ask(`${path}?svc_preview=${token()}`)).headers.location).toBe('/evil.test/x');
  });

  it('accepts the link without a redirect where one would lose the request', async () => {
    answer = (request, response) => void response.end(`${request.method} ${request.url}`);
    expect(await ask(`/p?svc_preview=${token()}`, {}, 'POST')).toMatchObject({ text: 'POST /p' });
  });

  it('does not let pages of other sandboxes act for the visitor', async () => {
    answer = plain('in');
    const cookie = `svc_preview=${token()}`;
    const from = (origin: string) => ask('/', { cookie, origin });
    for (const origin of [`http://${name(8080)}`, `https://${name(3000)}:8443`])
      expect(await from(origin)).toMatchObject({ text: 'in' });
    for (const origin of [
      `http://${name(8080, 'sb-other0000000')}`,
      'https://evil.test',
      'null',
      `http://${DOMAIN}`,
    ])
      expect(await from(origin)).toMatchObject({ status: 401 });
  });

  it('holds for WebSockets', async () => {
    const to = (headers: Record<string, string>, path = '/') =>
      new WebSocket(`ws://127.0.0.1:${shut.port}${path}`, { headers: { host: name(8080), ...headers } });
    const [, refusal] = (await once(to({}), 'unexpected-response')) as [unknown, IncomingMessage];
    expect(refusal.statusCode).toBe(401);
    refusal.destroy();
    const cookie = `svc_preview=${token()}`;
    for (const [headers, path] of [
      [{ cookie }, '/'],
      [{}, `/?svc_preview=${token()}`],
    ] as const) {
      const ws = to({ ...headers }, path);
      await once(ws, 'open');
      ws.close();
      await once(ws, 'close');
    }
  });
});

describe('WebSockets', () => {
  const to = (headers: Record<string, string> = {}, protocols: string[] = []) =>
    new WebSocket(`ws://127.0.0.1:${open.port}/ws?a=b`, protocols, {
      headers: { host: name(8080), ...headers },
    });

  it('open, and carry the bytes that were sent before the guest agreed', async () => {
    const ws = to({ 'X-API-Key': API_KEY }, [
      'svc.v1',
      `svc.key.${Buffer.from(API_KEY).toString('base64url')}`,
    ]);
    await once(ws, 'open');
    expect(seen[0]?.url).toBe('/ws?a=b');
    expect(seen[0]?.headers['sec-websocket-protocol']).toBe('svc.v1');
    expect(JSON.stringify(seen[0]?.rawHeaders)).not.toContain(API_KEY);
    const big = Buffer.alloc(3_000_000, 'z');
    ws.send(big);
    const [data] = (await once(ws, 'message')) as [Buffer];
    expect(data.equals(big)).toBe(true);
    ws.close(4001);
    expect((await once(ws, 'close'))[0]).toBe(4001);
  });

  it('get the answer of a guest that refuses', async () => {
    answer = (_, response) => void response.writeHead(403).end('no');
    guest.prependOnceListener('upgrade', (_, socket) =>
      socket.end('HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno'),
    );
    const [, refusal] = (await once(to(), 'unexpected-response')) as [unknown, IncomingMessage];
    expect(refusal.statusCode).toBe(403);
    refusal.destroy();
  });

  it.each([
    ['no key', 'Sec-WebSocket-Version: 13'],
    ['another version', 'Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='],
  ])('with %s are refused', async (_, lines) => {
    const { text } = await rawExchange(
      open.port,
      `GET / HTTP/1.1\r\nHost: ${name(8080)}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines}\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toEqual([]);
  });

  it('to other protocols are plain requests', async () => {
    answer = (request, response) => void response.end(String(request.headers.upgrade));
    const { text } = await rawExchange(
      open.port,
      `GET / HTTP/1.1\r\nHost: ${name(8080)}\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*undefined/);
  });

  it('end with the server', async () => {
    const own = await startHttp({ server });
    own.control.previews.ports.set(8080, (guest.address() as AddressInfo).port);
    const ws = new WebSocket(`ws://127.0.0.1:${own.port}/`, { headers: { host: name(8080) } });
    await once(ws, 'open');
    await Promise.all([own.server.close(20_000), once(ws, 'close')]);
    expect(own.control.previews.tunnels.size).toBe(0);
  });
});

describe('many at once', () => {
  it('of one sandbox are bounded without an effect on others', async () => {
    const waiting: ServerResponse[] = [];
    answer = (_, response) => void waiting.push(response);
    const all = Array.from({ length: 128 }, () => visit(open.port, name(8080)));
    await until('all are there', () => waiting.length === 128);
    const refused = await visit(open.port, name(8080));
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    answer = plain('other');
    expect(await visit(open.port, name(8080, 'sb-other0000000'))).toMatchObject({ text: 'other' });
    for (const response of waiting) response.end('late');
    expect((await Promise.all(all)).every(({ text }) => text === 'late')).toBe(true);
    expect(await visit(open.port, name(8080))).toMatchObject({ text: 'other' });
  });
});

it('the log names the preview without its address', async () => {
  answer = plain('');
  await visit(open.port, name(8080), '/secret-path?svc_preview=abc');
  await until('the line', () => open.logger.lines.some(({ fields }) => fields.port === 8080));
  expect(open.logger.lines.at(-1)?.fields).toMatchObject({
    route: 'preview',
    sandbox_id: ID,
    port: 8080,
    status: 200,
  });
  expect(JSON.stringify(open.logger.lines)).not.toMatch(/secret-path|svc_preview/);
});

/** Resolves when the number has not changed for a while. */
async function settled(read: () => number): Promise<void> {
  let before = -1;
  let same = 0;
  await until('it stays', () => {
    same = read() === before ? same + 1 : 0;
    before = read();
    return same > 20;
  });
}
