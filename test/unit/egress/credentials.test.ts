// Credentials that the server adds: by the plain endpoint, and in TLS that it ends.
import { once } from 'node:events';
import { createServer as createPlainServer } from 'node:http';
import { expect, it } from 'vitest';
import { realClock } from '../../../src/host/clock.ts';
import {
  ask,
  authorization,
  HOST,
  inside,
  instance,
  listening,
  PUBLIC,
  SECRET,
  type Seen,
  side,
  toEndpoint,
  toHost,
  world,
} from '../../support/servers/brokered-side.ts';
import { applied, textUntil } from '../../support/servers/egress-side.ts';
import { until } from '../../support/until.ts';

it('sends requests to the endpoint of a credential to its host by TLS, with its header', async () => {
  const made = await side();
  const socket = await made.program();
  const one = await ask(socket, toEndpoint('/v1/models?q=1'));
  const two = await ask(socket, toEndpoint('/v1/chat', { method: 'POST' }), 'body');
  expect([one.status, two.status]).toEqual([200, 200]);
  expect(made.target.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /v1/models?q=1',
    'POST /v1/chat',
  ]);
  for (const seen of made.target.seen) {
    expect(authorization(seen)).toEqual([`Bearer ${SECRET}`]);
    expect(seen.headers.slice(0, 2)).toEqual(['Host', HOST]);
  }
  expect(made.target.connections()).toBe(1);
  expect(made.dialed).toEqual([`${PUBLIC}:443`]);
  const lines = await until('the lines', () => (made.gate.log().length > 1 ? made.gate.log() : undefined));
  expect(lines).toMatchObject([
    { how: 'endpoint', credential: 'openai', host: HOST, method: 'GET', path: '/v1/models', status: 200 },
    { how: 'endpoint', credential: 'openai', host: HOST, method: 'POST', path: '/v1/chat', status: 200 },
  ]);
  expect(JSON.stringify([lines, made.events])).not.toContain(SECRET);
  expect(made.events).toMatchObject([{ type: 'egress.credential_used', credential: 'openai' }]);
});

it('sets the header inside TLS that it ends for the host, once, whatever the program sends', async () => {
  const made = await side();
  const socket = await inside(made);
  const headers = [
    ...['Host', HOST, 'Authorization', 'Bearer mine', 'AUTHORIZATION', 'Bearer again'],
    ...['authorization_', 'x', 'Connection', 'keep-alive, authorization'],
  ];
  const answer = await ask(socket, toHost('/v1', { headers }));
  expect(answer.status).toBe(200);
  expect(answer.headers['alt-svc']).toBeUndefined();
  expect(authorization(made.target.seen[0] as Seen)).toEqual([`Bearer ${SECRET}`]);
  await ask(socket, toHost('/v2'));
  expect(made.target.connections()).toBe(1);
  const lines = await until('the lines', () => (made.gate.log().length > 1 ? made.gate.log() : undefined));
  expect(lines).toMatchObject([
    { how: 'connect', credential: 'openai', path: '/v1' },
    { how: 'connect', credential: 'openai', path: '/v2' },
  ]);
});

it('ends TLS for no other host, and for no other server name', async () => {
  const made = await side();
  const socket = await inside(made, 'other.example.com');
  expect(socket.authorized).toBe(false);
  expect(made.target.seen).toEqual([]);
  const lines = await until('the line', () => (made.gate.log().length > 0 ? made.gate.log() : undefined));
  expect(lines).toMatchObject([{ decision: 'denied', reason: 'sni_mismatch' }]);
});

it.each([
  ['another Host', { headers: ['Host', 'other.example.com'] }, 421],
  ['two Hosts', { headers: ['Host', HOST, 'Host', HOST] }, 421],
  ['TRACE', { method: 'TRACE' }, 403],
  ['an absolute URL', { path: 'http://other.example.com/' }, 400],
])('refuses %s inside TLS that it ends', async (_, options, status) => {
  const made = await side();
  const answer = await ask(await inside(made), toHost('/', options));
  expect(answer.status).toBe(status);
  expect(made.target.seen).toEqual([]);
});

it('leaves a redirect to the program: another host gets no credential', async () => {
  const made = await side();
  const answer = await ask(await inside(made), toHost('/away'));
  expect(answer).toMatchObject({ status: 302, headers: { location: 'https://other.example.com/' } });
  expect(made.dialed).toEqual([`${PUBLIC}:443`]);
});

it('holds requests to the methods and paths of the credential', async () => {
  const made = await side({ methods: ['GET'], path_prefixes: ['/v1/', '/ok'] });
  const socket = await made.program();
  const statusOf = async (path: string, method = 'GET') =>
    (await ask(socket, toEndpoint(path, { method }))).status;
  for (const path of ['/v1/a', '/v1/', '/ok', '/ok/b', '/ok?x=/../..'])
    expect(await statusOf(path)).toBe(200);
  const refused = ['/v1', '/okay', '/v1/../admin', '/v1/%2e%2e/admin', '/v1//x', '/v1/..;/x', '/v1/%2Fx'];
  for (const path of refused) expect([path, await statusOf(path)]).toEqual([path, 403]);
  expect(await statusOf('/v1/a', 'POST')).toBe(403);
  expect(made.target.seen.length).toBe(5);
});

it('needs a rule for the host: a credential allows nothing', async () => {
  const made = await side({}, { rules: { allow: ['other.example.com'] } });
  const answer = await ask(await made.program(), toEndpoint('/'));
  expect(answer).toMatchObject({ status: 403, headers: { 'x-svc-egress': 'not_allowed' } });
  expect(made.lookups).toEqual([]);
});

it('sends nothing to a target without a valid certificate', async () => {
  const made = await side({}, { deps: {} });
  const answer = await ask(await made.program(), toEndpoint('/'));
  expect(answer).toMatchObject({ status: 502, headers: { 'x-svc-egress': 'tls_failed' } });
  expect(made.target.seen).toEqual([]);
});

it('sets the header of WebSockets', async () => {
  const made = await side();
  const socket = await inside(made);
  const head = ['GET /live HTTP/1.1', `Host: ${HOST}`, 'Connection: Upgrade', 'Upgrade: websocket', '', ''];
  socket.write(head.join('\r\n'));
  expect(await textUntil(socket as never, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 101 /);
  socket.write('frame');
  expect(String((await once(socket, 'data'))[0])).toBe('frame');
  expect(authorization(made.target.seen[0] as Seen)).toEqual([`Bearer ${SECRET}`]);
});

it('asks again when the target closed a kept connection', async () => {
  const made = await side();
  const socket = await inside(made);
  await ask(socket, toHost('/1'));
  made.target.drop();
  expect((await ask(socket, toHost('/2'))).status).toBe(200);
  expect(made.target.connections()).toBe(2);
});

it('stops to use a credential with the policy that had it', async () => {
  const made = await side();
  const [socket, program] = [await inside(made), await made.program()];
  await ask(socket, toHost('/1'));
  made.gate.change(applied({ allow: [HOST] }, { authority: instance }));
  expect((await ask(socket, toHost('/2'))).headers['x-svc-egress']).toBe('policy_changed');
  expect((await ask(program, toEndpoint('/3'))).headers['x-svc-egress']).toBe('not_allowed');
  expect(made.target.seen.map(({ url }) => url)).toEqual(['/1']);
});

it('sets the header on plain HTTP only where the credential says so', async () => {
  const seen: Seen[] = [];
  const plain = createPlainServer((asked, response) => {
    seen.push({ headers: asked.rawHeaders });
    response.end('ok');
  });
  const port = await listening(plain);
  for (const allow_http of [false, true]) {
    const made = await side({ allow_http }, { targets: { [`${PUBLIC}:80`]: port } });
    const path = `http://${HOST}/`;
    await ask(await made.program(), { path, headers: ['Host', HOST] });
  }
  expect(seen.map(authorization)).toEqual([[], [`Bearer ${SECRET}`]]);
});

it('connects while the program is still at its handshake, and logs requests only', async () => {
  const made = await side();
  const socket = await inside(made);
  await until('the connection', () => made.target.connections() === 1 || undefined);
  expect(made.gate.counters).toMatchObject({ allowed: 0, open: 1 });
  await ask(socket, toHost('/v1'));
  expect(made.target.connections()).toBe(1);
  const silent = await inside(made);
  await until('the next', () => made.target.connections() === 2 || undefined);
  silent.destroy();
  socket.destroy();
  await until('the end', () => made.gate.counters.open === 0 || undefined);
  expect(made.gate.log()).toMatchObject([{ path: '/v1' }]);
  expect(made.gate.counters).toMatchObject({ allowed: 1, failed: 0, denied: 0 });
});

it('connects again for a request that came late', async () => {
  const clock = realClock();
  let later = 0;
  const deps = {
    roots: [world.certificate],
    clock: { ...clock, monotonic: () => clock.monotonic() + later },
  };
  const made = await side({}, { deps });
  const socket = await inside(made);
  await until('the connection', () => made.target.connections() === 1 || undefined);
  later = 1000;
  expect((await ask(socket, toHost('/late', { method: 'POST' }), 'body')).status).toBe(200);
  expect(made.target.connections()).toBe(2);
  expect(made.gate.counters.open).toBeLessThan(2);
});

it('answers why the connection for the first request failed', async () => {
  const made = await side({}, { deps: {} });
  const answer = await ask(await inside(made), toHost('/'));
  expect(answer).toMatchObject({ status: 502, headers: { 'x-svc-egress': 'tls_failed' } });
  expect(made.target.seen).toEqual([]);
  expect(made.gate.log()).toMatchObject([{ decision: 'failed', reason: 'tls_failed' }]);
});
