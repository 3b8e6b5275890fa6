// What programs get through the proxy port, each way in.
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { applied, egressSide, target, textUntil, textUntilEnd } from '../../support/servers/egress-side.ts';
import { until } from '../../support/until.ts';

const PUBLIC = '93.184.216.34';
const names = { 'api.example.com': [PUBLIC], 'other.example.com': ['93.184.216.35'] };
const rules = { allow: ['api.example.com', 'api.example.com:2222'] };

const echo = () => target((socket) => void socket.pipe(socket));

async function httpTarget(): Promise<number> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('x-seen', `${request.method} ${request.url} ${request.headers.host}`);
      response.end(`${Buffer.concat(chunks)}|${JSON.stringify(request.rawHeaders)}`);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

async function connected(socket: Socket, to: string): Promise<string> {
  socket.write(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n`);
  return textUntil(socket, '\r\n\r\n');
}

it('joins a program with an allowed target by CONNECT, both directions half-closing', async () => {
  const side = await egressSide({ rules, names, targets: { [`${PUBLIC}:2222`]: await echo() } });
  const socket = await side.program();
  expect(await connected(socket, 'api.example.com:2222')).toMatch(/^HTTP\/1\.1 200 /);
  socket.end('hello');
  expect(await textUntilEnd(socket)).toBe('hello');
  const [line] = await until('the line', () => (side.gate.log().length > 0 ? side.gate.log() : undefined));
  expect(line).toMatchObject({
    decision: 'allowed',
    reason: 'rule_allow',
    rule: 'api.example.com:2222',
    layer: 'spawn',
    host: 'api.example.com',
    port: 2222,
    address: PUBLIC,
    how: 'connect',
    uid: 1000,
    sent_bytes: 5,
    received_bytes: 5,
  });
  expect(side.gate.counters).toMatchObject({ allowed: 1, denied: 0, open: 0, sent_bytes: 5 });
});

it('refuses what no rule allows, without a look-up', async () => {
  const side = await egressSide({ rules, names });
  const socket = await side.program();
  const answer = await connected(socket, 'other.example.com:443');
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  expect(answer).toContain('x-svc-egress: not_allowed');
  expect(side.lookups).toEqual([]);
  expect(side.dialed).toEqual([]);
  expect(side.gate.log()).toMatchObject([{ decision: 'denied', host: 'other.example.com' }]);
  expect(side.events).toMatchObject([{ type: 'egress.denied', count: 1 }]);
});

it.each(['keys.svc.internal:443', 'svc.internal:443'])('refuses %s before the rules', async (name) => {
  const side = await egressSide({ rules: { default: 'allow' }, names: { 'keys.svc.internal': [PUBLIC] } });
  expect(await connected(await side.program(), name)).toContain('x-svc-egress: not_allowed');
  expect(side.lookups).toEqual([]);
});

it('speaks SOCKS5 with names and addresses', async () => {
  const side = await egressSide({
    rules: { allow: ['api.example.com:2222', '93.184.216.35:*'] },
    names,
    targets: { [`${PUBLIC}:2222`]: await echo(), '93.184.216.35:9': await echo() },
  });
  const byName = await side.program();
  byName.write(Buffer.from([5, 1, 0]));
  byName.write(
    Buffer.concat([Buffer.from([5, 1, 0, 3, 15]), Buffer.from('api.example.com'), Buffer.from([8, 174])]),
  );
  byName.end('hello');
  expect(Buffer.from(await textUntilEnd(byName), 'latin1')).toEqual(
    Buffer.concat([Buffer.from([5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]), Buffer.from('hello')]),
  );
  const byAddress = await side.program();
  byAddress.end(
    Buffer.concat([Buffer.from([5, 1, 0, 5, 1, 0, 1, 93, 184, 216, 35, 0, 9]), Buffer.from('x')]),
  );
  expect((await textUntilEnd(byAddress)).endsWith('x')).toBe(true);
  const refused = await side.program();
  refused.write(Buffer.from([5, 1, 0, 5, 1, 0, 1, 8, 8, 8, 8, 1, 187]));
  expect(Buffer.from(await textUntilEnd(refused), 'latin1').subarray(2, 4)).toEqual(Buffer.from([5, 2]));
});

it('lets the server speak first', async () => {
  const port = await target((socket) => void socket.write('SSH-2.0-x\r\n'));
  const side = await egressSide({ rules, names, targets: { [`${PUBLIC}:2222`]: port } });
  const socket = await side.program();
  await connected(socket, 'api.example.com:2222');
  expect(await textUntil(socket, '\n')).toContain('SSH-2.0-x');
});

it('serves plain HTTP in absolute form, each request decided by itself', async () => {
  const side = await egressSide({ rules, names, targets: { [`${PUBLIC}:80`]: await httpTarget() } });
  const socket = await side.program();
  socket.write(
    'POST http://API.example.com/a?q=1 HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 4\r\nConnection: keep-alive, x-drop\r\nX-Drop: 1\r\nX-Keep: 1\r\nProxy-Authorization: secret\r\n\r\nbody',
  );
  const first = await textUntil(socket, ']');
  expect(first).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(first).toContain('x-seen: POST /a?q=1 api.example.com');
  expect(first).toContain('body|');
  expect(first).toContain('X-Keep');
  expect(first).not.toMatch(/X-Drop|Proxy-Auth/i);
  socket.write('GET http://other.example.com/ HTTP/1.1\r\nHost: other.example.com\r\n\r\n');
  expect(await textUntil(socket, 'sandbox.\n')).toMatch(/^HTTP\/1\.1 403 .*x-svc-egress: not_allowed/s);
  expect(side.gate.log()).toMatchObject([
    { decision: 'allowed', how: 'http', method: 'POST', path: '/a', status: 200 },
    { decision: 'denied', how: 'http', method: 'GET', path: '/' },
  ]);
});

it('answers requests in the order in which they came', async () => {
  const side = await egressSide({ rules, names, targets: { [`${PUBLIC}:80`]: await httpTarget() } });
  const socket = await side.program();
  const get = (path: string) => `GET http://api.example.com${path} HTTP/1.1\r\nHost: api.example.com\r\n\r\n`;
  socket.write(`${get('/1')}${get('/2')}${get('/3')}`);
  let text = '';
  while (!socket.readableEnded && (text.match(/x-seen/g) ?? []).length < 3)
    text += await textUntil(socket, ']');
  expect(text.match(/x-seen: GET \/\d/g)).toEqual(['x-seen: GET /1', 'x-seen: GET /2', 'x-seen: GET /3']);
});

it('refuses another Host than that of the target, by absolute form, CONNECT and SOCKS', async () => {
  const wide = { allow: ['api.example.com', 'other.example.com'] };
  const side = await egressSide({ rules: wide, names, targets: { [`${PUBLIC}:80`]: await httpTarget() } });
  const absolute = await side.program();
  absolute.write('GET http://api.example.com/ HTTP/1.1\r\nHost: other.example.com\r\n\r\n');
  expect(await textUntil(absolute, 'header.\n')).toMatch(/^HTTP\/1\.1 421 .*x-svc-egress: host_mismatch/s);
  const tunnel = await side.program();
  expect(await connected(tunnel, 'api.example.com:80')).toMatch(/^HTTP\/1\.1 200 /);
  tunnel.write('GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n');
  expect(await textUntil(tunnel, 'header.\n')).toMatch(/^HTTP\/1\.1 421 /);
  tunnel.write('GET /in HTTP/1.1\r\nHost: api.example.com\r\n\r\n');
  expect(await textUntil(tunnel, ']')).toContain('x-seen: GET /in api.example.com');
  const socks = await side.program();
  socks.write(
    Buffer.concat([
      Buffer.from([5, 1, 0, 5, 1, 0, 3, 15]),
      Buffer.from('api.example.com'),
      Buffer.from([0, 80]),
    ]),
  );
  socks.write('GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n');
  expect(await textUntil(socks, 'header.\n')).toContain('x-svc-egress: host_mismatch');
  expect(side.dialed).toEqual([`${PUBLIC}:80`]);
});

const URL = 'http://api.example.com/';
const OWN = 'Host: api.example.com\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';

it('passes on what came with CONNECT, as bytes', async () => {
  const side = await egressSide({ rules, names, targets: { [`${PUBLIC}:2222`]: await echo() } });
  const socket = await side.program();
  socket.write('CONNECT api.example.com:2222 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello again');
  expect(await textUntil(socket, 'again')).toMatch(/^HTTP\/1\.1 200 [^\r]+\r\n\r\nhello again$/);
});

it.each([
  ['two Hosts', 'GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\nHost: other\r\n\r\n'],
  [
    'a length and chunks',
    'POST http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['TRACE', 'TRACE http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n'],
  ['a user name', 'GET http://api.example.com@other.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n'],
  ['origin form', 'GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n'],
  ['another scheme', 'GET ftp://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n'],
  ['no HTTP', 'nonsense\r\n\r\n'],
  ['a folded header', `GET ${URL} HTTP/1.1\r\n${OWN}X-A: b\r\n c\r\n\r\n`],
  ['a folded Host', `GET ${URL} HTTP/1.1\r\nHost: api.example.com\r\n other\r\n\r\n`],
  ['no Host', `GET ${URL} HTTP/1.1\r\n\r\n`],
  ['another port in Host', `GET ${URL} HTTP/1.1\r\nHost: api.example.com:81\r\n\r\n`],
  ['lines that end by LF alone', `GET ${URL} HTTP/1.1\nHost: api.example.com\n\n`],
  ['CR in a value', `GET ${URL} HTTP/1.1\r\n${OWN}X: a\rTransfer-Encoding: chunked\r\n\r\n`],
  ['NUL in a value', `GET ${URL} HTTP/1.1\r\n${OWN}X: a\0b\r\n\r\n`],
  ['a space before the colon', `POST ${URL} HTTP/1.1\r\n${OWN}Content-Length : 3\r\n\r\nabc`],
  ['two lengths', `POST ${URL} HTTP/1.1\r\n${OWN}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
  ['a list of lengths', `POST ${URL} HTTP/1.1\r\n${OWN}Content-Length: 3, 3\r\n\r\nabc`],
  ['a length with a sign', `POST ${URL} HTTP/1.1\r\n${OWN}Content-Length: +3\r\n\r\nabc`],
  ['chunks twice', `POST ${URL} HTTP/1.1\r\n${OWN}${CHUNKED}${CHUNKED}\r\n0\r\n\r\n`],
  ['almost chunks', `POST ${URL} HTTP/1.1\r\n${OWN}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  [
    'a coding',
    'POST http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  ],
])('refuses a request with %s', async (_, text) => {
  const side = await egressSide({ rules, names, targets: { [`${PUBLIC}:80`]: await httpTarget() } });
  const socket = await side.program();
  socket.write(text);
  expect(await textUntil(socket, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 4\d\d /);
  expect(side.dialed).toEqual([]);
});

it('passes a WebSocket on, and no other protocol', async () => {
  const port = await target((socket) => {
    socket.once('data', (head: Buffer) => {
      if (!/upgrade: websocket/i.test(String(head)))
        return void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhi');
      socket.pipe(socket);
    });
  });
  const side = await egressSide({ rules, names, targets: { [`${PUBLIC}:80`]: port } });
  const ask = (protocol: string) =>
    `GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
  const socket = await side.program();
  socket.write(ask('websocket'));
  expect(await textUntil(socket, '\r\n\r\nhi')).toMatch(/^HTTP\/1\.1 101 /);
  socket.write('frame');
  expect(await textUntil(socket, 'frame')).toBe('frame');
  const other = await side.program();
  other.write(ask('h2c'));
  expect(await textUntil(other, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
});

it('closes what a changed policy does not allow before change returns, and keeps the rest', async () => {
  const targets = { [`${PUBLIC}:2222`]: await echo(), '93.184.216.35:443': await echo() };
  const both = { allow: ['api.example.com:2222', 'other.example.com'] };
  const side = await egressSide({ rules: both, names, targets });
  const [gone, kept] = [await side.program(), await side.program()];
  await connected(gone, 'api.example.com:2222');
  await connected(kept, 'other.example.com:443');
  side.gate.change(applied({ allow: ['other.example.com'] }));
  expect(side.gate.counters.open).toBe(1);
  expect(side.gate.log()).toMatchObject([
    { decision: 'denied', reason: 'policy_changed', host: 'api.example.com' },
  ]);
  expect(await textUntilEnd(gone)).toBe('');
  kept.end('still');
  expect(await textUntilEnd(kept)).toBe('still');
  expect(await connected(await side.program(), 'api.example.com:2222')).toMatch(/^HTTP\/1\.1 403 /);
});
