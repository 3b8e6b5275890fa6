// Ports of sandboxes by header: who reaches one, what passes, and what a page or a guest cannot do with it.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { API_KEY, rawExchange, startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { valuesIn, visit } from '../support/servers/preview-visit.ts';
import { until } from '../support/until.ts';

const ID = 'sb-known0000000';
const PORT = { 'x-sandbox-port': `8080-${ID}` };
const KEYED = { ...PORT, 'x-api-key': API_KEY };
const PAGE = 'https://page.example';

let http: TestHttp;
let guest: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const seen: IncomingMessage[] = [];
const ask = (path: string, options: Parameters<typeof visit>[3] = {}) =>
  visit(http.port, `127.0.0.1:${http.port}`, path, options);

beforeAll(async () => {
  guest = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(guest, 'listening');
  http = await startHttp({
    auth: { enabled: true, api_key: API_KEY },
    server: { cors_allowed_origins: [PAGE] },
  });
  http.control.previews.ports.set(8080, (guest.address() as AddressInfo).port);
});
beforeEach(() => {
  seen.length = 0;
  answer = (request, response) => void request.pipe(response);
});
afterAll(async () => {
  await until('no tunnel', () => http.control.previews.tunnels.size === 0);
  await http.server.close(0);
  guest.closeAllConnections();
  guest.close();
});

it('passes method, path, query and body, and neither the key nor the header', async () => {
  const found = await ask('/api/v1/sandboxes/..%2f?x=%20&&y', {
    ...{ method: 'PATCH', body: 'hello' },
    headers: { ...KEYED, 'x-user-id': 'ann', 'x-mine': 'yes' },
  });
  expect(found).toMatchObject({ status: 200, text: 'hello' });
  expect(seen[0]).toMatchObject({ method: 'PATCH', url: '/api/v1/sandboxes/..%2f?x=%20&&y' });
  expect(seen[0]?.headers).toMatchObject({ 'x-mine': 'yes', host: `127.0.0.1:${http.port}` });
  for (const name of ['x-sandbox-port', 'x-api-key', 'x-user-id'])
    expect(seen[0]?.headers).not.toHaveProperty(name);
  expect(http.control.asked.at(-1)).toMatchObject({ method: 'previews.open', caller: { owner: 'ann' } });
});

it('requires a key, also where previews are public, and says in a header that the service answered', async () => {
  const refused = await ask('/', { headers: { ...PORT, accept: 'text/html' } });
  expect(refused.status).toBe(401);
  expect(refused.headers['x-sandbox-port-error']).toBe('unauthorized');
  expect(JSON.parse(refused.text)).toMatchObject({ code: 'unauthorized' });
  const nothing = await ask('/', {
    headers: { ...KEYED, 'x-sandbox-port': `81-${ID}`, accept: 'text/html' },
  });
  expect(nothing.status).toBe(502);
  expect(nothing.headers['x-sandbox-port-error']).toBe('unavailable');
  expect(JSON.parse(nothing.text)).toMatchObject({ code: 'unavailable' });
  expect(seen).toEqual([]);
});

it('removes that header from the answers of sandboxes', async () => {
  answer = (_, response) => void response.writeHead(502, { 'X-Sandbox-Port-Error': 'internal' }).end('mine');
  const found = await ask('/', { headers: KEYED });
  expect(found).toMatchObject({ status: 502, text: 'mine' });
  expect(valuesIn(found, 'x-sandbox-port-error')).toEqual([]);
});

it.each(['', '80', `0-${ID}`, `65536-${ID}`, `8080-${ID}.x`, '8080-../x'])(
  'rejects the header value %j',
  async (value) => {
    const found = await ask('/', { headers: { ...KEYED, 'x-sandbox-port': value } });
    expect(found.status).toBe(400);
    expect(seen).toEqual([]);
  },
);

it('rejects two ports in one request', async () => {
  const lines = [
    'GET / HTTP/1.1',
    ...[`Host: 127.0.0.1:${http.port}`, `X-API-Key: ${API_KEY}`, 'Connection: close'],
    ...[`X-Sandbox-Port: 8080-${ID}`, `X-Sandbox-Port: 8081-${ID}`],
  ];
  const { text } = await rawExchange(http.port, `${lines.join('\r\n')}\r\n\r\n`);
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
});

it('is closed to pages: not even an allowed origin may send the header', async () => {
  const preflight = await ask('/', {
    method: 'OPTIONS',
    headers: { origin: PAGE, ...{ 'access-control-request-method': 'GET' } },
  });
  expect(preflight.headers['access-control-allow-headers']?.toLowerCase()).not.toContain('x-sandbox-port');
  const foreign = await ask('/', { headers: { ...KEYED, origin: 'https://other.example' } });
  expect(foreign.status).toBe(403);
  expect(seen).toEqual([]);
});

it('answers any text in the header, and lets none but a port of a sandbox through', async () => {
  const part = fc.constantFrom(
    '8080',
    '0',
    '65536',
    '-',
    ID,
    'sb-',
    ' ',
    ',',
    '..',
    '%2d',
    '8080-',
    '@',
    '[::1]',
    ':80',
  );
  const text = fc.oneof(
    fc.array(part, { maxLength: 5 }).map((parts) => parts.join('')),
    fc.string({
      unit: fc
        .integer({ min: 0x20, max: 0xff })
        .filter((code) => code !== 0x7f)
        .map((code) => String.fromCharCode(code)),
      maxLength: 300,
    }),
  );
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      seen.length = 0;
      const { status } = await ask('/', { headers: { 'x-api-key': API_KEY, 'x-sandbox-port': value } });
      const isPort = value.trim() === `8080-${ID}`;
      expect([value, seen.length]).toEqual([value, isPort ? 1 : 0]);
      // 502: a port of a sandbox at which nothing listens.
      expect([200, 400, 404, 502]).toContain(status);
    }),
    { numRuns: 300, examples: [[`8080-${ID}`], [` 8080-${ID} `], [`8080-${ID}, 8080-${ID}`]] },
  );
});
