// Calls that the server refuses for the moment, signals in one place, and the end of what only follows.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { Client, type ClientOptions } from '../../../src/client/package.ts';

let server: Server;
let client: Client;
afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  server.close();
});

type Answering = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

async function start(answering: Answering, options: Partial<ClientOptions> = {}) {
  const asked: string[] = [];
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answering(request, response, asked.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  client = new Client({ server: `http://127.0.0.1:${port}`, ...options });
  return asked;
}

const refuse = (response: ServerResponse, status: number, details: object = {}, after = '1') => {
  const code = status === 429 ? 'resource_limit' : 'unavailable';
  response.writeHead(status, { 'content-type': 'application/json', 'retry-after': after });
  response.end(JSON.stringify({ code, message: 'Not now.', request_id: 'r', details }));
};
const say = (response: ServerResponse, body: unknown) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};
const onceRefused =
  (status: number, details: object = {}): Answering =>
  (request, response, nth) =>
    request
      .resume()
      .once('end', () => (nth === 1 ? refuse(response, status, details) : say(response, { ok: 1 })));

it.each([429, 503])('retries after a %i where a second call is safe', async (status) => {
  const asked = await start(onceRefused(status));
  const began = performance.now();
  await client.get('sb-1');
  expect(performance.now() - began).toBeGreaterThan(900);
  expect(asked).toHaveLength(2);
});

it.each([
  [{ nothing_done: true }, 2],
  [{}, 1],
])('retries a spawn after a 408 with %j in %i calls', async (details, calls) => {
  const asked = await start(onceRefused(408, details));
  await client.spawn({}).catch(() => undefined);
  expect(asked).toHaveLength(calls);
});

it('retries a spawn only with an idempotency key', async () => {
  const asked = await start(onceRefused(429));
  await client.spawn({}, { idempotencyKey: 'k' });
  expect(asked).toHaveLength(2);
  await client.close();
  server.close();
  const once = await start(onceRefused(429));
  await expect(client.spawn({})).rejects.toMatchObject({ code: 'resource_limit', retryAfterMs: 1000 });
  await client.spawn({});
  expect(once).toHaveLength(2);
});

it('retries any call of which the server reports that nothing was done', async () => {
  const asked = await start(onceRefused(429, { nothing_done: true }));
  await client.exec('sb-1', { command: 'true' });
  expect(asked).toHaveLength(2);
});

it('reopens the content of a file for a retry, and never resends half of a stream', async () => {
  const bodies: string[] = [];
  await start((request, response, nth) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.once('end', () => {
      bodies.push(body);
      if (nth % 2 === 1) refuse(response, 429, { nothing_done: true });
      else say(response, { size: 3 });
    });
  });
  await client.files.write('sb-1', '/a', () => Readable.from(['abc']));
  expect(bodies).toEqual(['abc', 'abc']);
  await expect(client.files.write('sb-1', '/a', Readable.from(['abc']))).rejects.toMatchObject({
    status: 429,
  });
});

it('bounds retries, switches them off, and ends them on its signal', async () => {
  const always: Answering = (_, response) => refuse(response, 429);
  let asked = await start(always, { retry: { attempts: 2 } });
  await expect(client.get('sb-1')).rejects.toMatchObject({ status: 429 });
  expect(asked).toHaveLength(2);
  await client.close();
  server.close();
  asked = await start(always, { retry: { totalMs: 500 } });
  await expect(client.get('sb-1')).rejects.toMatchObject({ status: 429 });
  expect(asked).toHaveLength(1);
  await client.close();
  server.close();
  asked = await start(always, { retry: false });
  await expect(client.get('sb-1')).rejects.toMatchObject({ status: 429 });
  expect(asked).toHaveLength(1);
  await client.close();
  server.close();
  await start(always);
  const reason = new Error('enough');
  await expect(client.get('sb-1', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const ending = new AbortController();
  setTimeout(() => ending.abort(reason), 100);
  await expect(client.get('sb-1', { signal: ending.signal })).rejects.toBe(reason);
});

it('ends its open streams when it closes', async () => {
  await start((request, response) => {
    const type = request.url?.includes('/events') ? 'text/event-stream' : 'application/x-ndjson';
    response.writeHead(200, { 'content-type': type });
    response.write(
      type === 'text/event-stream' ? 'id: 1\ndata: {"id":1}\n\n' : '{"stream":"start","line":"x"}\n',
    );
  });
  const streams = [
    client.events(),
    client.followLogs('sb-1'),
    client.execs.output('sb-1', 'ex-1', { follow: true }),
  ];
  for (const stream of streams) expect((await stream.next()).done).toBe(false);
  const waiting = streams.map((stream) => stream.next());
  await client.close();
  for (const next of waiting) expect((await next).done).toBe(true);
});

it('accepts a signal as the last argument of every call, and in its older positions', async () => {
  await start((_, response) => say(response, {}));
  const reason = new Error('enough');
  const terms = { signal: AbortSignal.abort(reason) };
  const calls = [
    () => client.exec('sb-1', { command: 'x' }, terms.signal),
    () => client.exec('sb-1', { command: 'x' }, terms),
    () => client.execStream('sb-1', { command: 'x' }, terms).next(),
    () => client.openExec('sb-1', { command: 'x' }, terms),
    () => client.page({}, terms),
    () => client.list({}, terms).next(),
    () => client.destroy('sb-1', terms),
    () => client.preview('sb-1', 80, undefined, terms),
    () => client.logs('sb-1', 1, terms),
    () => client.followLogs('sb-1', 1, terms.signal).next(),
    () => client.events({}, terms).next(),
    () => client.execs.detach('sb-1', { command: 'x' }, terms),
    () => client.execs.output('sb-1', 'ex-1', {}, terms).next(),
    () => client.execs.signal('sb-1', 'ex-1', 'TERM', terms),
    () => client.files.read('sb-1', '/a', terms),
    () => client.files.mkdir('sb-1', '/a', terms),
    () => client.files.remove('sb-1', '/a', terms),
    () => client.quotas.list(terms),
    () => client.templates.update('t', { image: 'host' }, undefined, terms),
    () => client.workers.drain('w', true, terms),
    () => client.admin.metricsText(terms),
    () => client.system.health(terms),
  ];
  for (const call of calls) await expect(call(), String(call)).rejects.toBe(reason);
});

const onceLost: Answering = (request, response, nth) => {
  if (nth === 1) request.socket.destroy();
  else say(response, { ok: 1 });
};

it('repeats a safe call whose connection was lost, and no other', async () => {
  const asked = await start(onceLost);
  await client.get('sb-1');
  expect(asked).toHaveLength(2);
});

it('does not repeat a command whose connection was lost', async () => {
  const asked = await start(onceLost);
  const failure = await client.exec('sb-1', { command: 'true' }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'unavailable' });
  expect(asked).toHaveLength(1);
});

it('gives up after three lost connections', async () => {
  const asked = await start((request) => void request.socket.destroy());
  await expect(client.get('sb-1')).rejects.toMatchObject({ code: 'unavailable' });
  expect(asked).toHaveLength(4);
});

it('ends a call after timeoutMs, retries included', async () => {
  await start((_, response) => refuse(response, 503, {}, '60'), { retry: { totalMs: 600_000 } });
  await expect(client.get('sb-1', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'timeout' });
});
