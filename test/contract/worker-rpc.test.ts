// A worker's own server, over real connections: who gets in, and what a hostile caller gets.
import { readFileSync } from 'node:fs';
import { request as secure } from 'node:https';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freshToken, parseWorkerToken } from '../../src/domain/worker-token.ts';
import { realClock } from '../../src/host/clock.ts';
import type { ServerTls } from '../../src/http/framework.ts';
import { rpcServer } from '../../src/worker/rpc-server.ts';
import { certificates } from '../support/certificates.ts';
import { forgedTokens } from '../support/checks/forged-tokens.ts';
import { fakeIds } from '../support/fakes/ports.ts';
import { rawExchange } from '../support/servers/http-server.ts';
import { SECRET, workerFixture } from '../support/servers/worker-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const A = 'sb-aaaaaaaaaaaa';
const STATUS = {
  id: '7',
  method: 'worker.status',
  worker_id: 'w1',
  params: { sandbox_id: A, provider: 'userspace' },
};

async function served(tls?: ServerTls) {
  const bench = await workerFixture();
  // Bodies and headers come in real time; tokens and leases are judged in the bench's.
  const clock = { ...realClock(), now: () => bench.clock.now() };
  const parts = { ...bench.parts, clock };
  const server = rpcServer({ parts, ids: fakeIds(), address: { host: '127.0.0.1', port: 0 }, tls });
  const port = await server.listen();
  onTestFinished(() => server.close(1000));
  const token = (aud: 'worker:rpc' | 'worker:control-plane' = 'worker:rpc') =>
    freshToken(SECRET, { worker_id: 'w1', aud, jti: 'j', now: bench.clock.now() });
  const post = async (body: unknown, headers: Record<string, string | undefined> = {}, path = '/rpc') => {
    const all = {
      'x-worker-id': 'w1',
      'x-worker-token': token(),
      'content-type': 'application/json',
      ...headers,
    };
    const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: given,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  return { bench, server, port, token, post };
}

describe('a call', () => {
  it('is answered with its id, for a signed token and for the secret', async () => {
    const { post } = await served();
    const answer = {
      id: '7',
      worker_id: 'w1',
      result: { sandbox_id: A, state: 'gone', provider: 'userspace' },
    };
    expect(await post(STATUS)).toEqual({ status: 200, body: answer });
    expect(await post(STATUS, { 'x-worker-token': SECRET })).toEqual({ status: 200, body: answer });
    // A control plane that is newer may say more.
    expect((await post({ ...STATUS, more: 1, params: { ...STATUS.params, more: 1 } })).status).toBe(200);
  });

  it.each<[string, unknown, Record<string, string | undefined>, number, string]>([
    ['no token', STATUS, { 'x-worker-token': undefined }, 401, 'unauthorized'],
    ['no id', STATUS, { 'x-worker-id': undefined }, 401, 'unauthorized'],
    ["another worker's id", STATUS, { 'x-worker-id': 'w2' }, 403, 'forbidden'],
    ['a call for another worker', { ...STATUS, worker_id: 'w2' }, {}, 403, 'forbidden'],
    ['no method', { ...STATUS, method: undefined }, {}, 400, 'bad_request'],
    ['an unknown method', { ...STATUS, method: 'worker.exec' }, {}, 400, 'bad_request'],
    ['parameters that are none', { ...STATUS, params: [] }, {}, 400, 'bad_request'],
    ['a lease that is none', { ...STATUS, lease: { signature: 1 } }, {}, 400, 'bad_request'],
    ['no JSON', '{', {}, 400, 'bad_request'],
    ['no object', '[]', {}, 400, 'bad_request'],
    ['null', 'null', {}, 400, 'bad_request'],
    ['a key for prototypes', '{"__proto__":{}}', {}, 400, 'bad_request'],
    ['another type', STATUS, { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['a compressed body', STATUS, { 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
    ['a huge body', `"${'x'.repeat(300_000)}"`, {}, 413, 'payload_too_large'],
  ])('with %s is refused', async (_name, body, headers, status, code) => {
    const { post } = await served();
    const answer = await post(body, headers);
    const error = (answer.body.error ?? answer.body) as { code: string };
    expect([answer.status, error.code]).toEqual([status, code]);
  });

  it('to another path is answered with 404', async () => {
    const { post, port } = await served();
    expect((await post(STATUS, {}, '/api/v1/sandboxes')).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port}/rpc`)).status).toBe(405);
  });

  it('without a valid credential is refused before its body is read', async () => {
    const { port } = await served();
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const answered = new Promise<string>((resolve) =>
      socket.once('data', (data) => resolve(data.toString())),
    );
    socket.write(
      'POST /rpc HTTP/1.1\r\nHost: w\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n',
    );
    expect(await answered).toMatch(/^HTTP\/1.1 401 /);
  });

  it('with more than 256 headers is refused, whatever they say', async () => {
    const { port, token } = await served();
    const rights = `X-Worker-ID: w1\r\nX-Worker-Token: ${token()}\r\n`;
    const head = `POST /rpc HTTP/1.1\r\nHost: w\r\n${rights}Content-Type: application/json\r\nContent-Length: 0\r\n`;
    const { text, closed } = await rawExchange(port, `${head}${'A:\r\n'.repeat(256)}\r\n`);
    expect([text.slice(0, 12), closed]).toEqual(['HTTP/1.1 431', true]);
  });

  it('with a forged token is refused, each of 500', async () => {
    const { bench, post, token } = await served();
    const good = token();
    const payload = parseWorkerToken(good)?.payload;
    if (!payload) throw new Error('the token is none');
    const forged = forgedTokens({ good, payload, secret: SECRET, now: bench.clock.now() });
    const statuses = new Map<number, number>();
    for (const each of forged) {
      // What no header can carry never arrives.
      if (!/^[\x21-\x7e]*$/.test(each.token)) continue;
      const { status } = await post(STATUS, { 'x-worker-token': each.token });
      expect([401, 403], each.how).toContain(status);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(statuses.get(401)).toBeGreaterThan(450);
    expect((await post(STATUS, { 'x-worker-token': token('worker:control-plane') })).status).toBe(401);
    expect((await post(STATUS)).status).toBe(200);
  });

  it('with a replayed lease is refused', async () => {
    const { bench, post } = await served();
    const spawn = (generation: number) => ({
      ...{ id: '1', method: 'worker.spawn', worker_id: 'w1', lease: bench.lease(A, generation) },
      params: { sandbox_id: A, provider: 'userspace', memory_mb: 64, vcpus: 1, ttl: '5m' },
    });
    const first = spawn(1);
    expect((await post(first)).status).toBe(200);
    const destroy = { ...STATUS, method: 'worker.destroy', lease: bench.lease(A, 1) };
    expect((await post(destroy)).status).toBe(200);
    expect((await post(first)).status).toBe(403);
    await bench.clock.advance(91_000);
    expect((await post(first)).status).toBe(403);
    expect((await post({ ...first, lease: bench.lease('sb-bbbbbbbbbbbb', 9) })).status).toBe(403);
    expect(bench.provider.made).toHaveLength(1);
  });
});

describe('mutual TLS', () => {
  it('accepts a client with a certificate of the authority and a credential', async () => {
    const made = certificates(temporaryFolder());
    const text = (file: string) => readFileSync(file, 'utf8');
    const tls = { cert: text(made.server.cert), key: text(made.server.key), ca: text(made.ca) };
    const { port, token } = await served(tls);
    const status = (pair: { cert: string; key: string } | undefined, given: string) =>
      new Promise<number>((resolve, reject) => {
        const own = pair && { cert: text(pair.cert), key: text(pair.key) };
        const headers = { 'x-worker-id': 'w1', 'x-worker-token': given, 'content-type': 'application/json' };
        const call = secure({
          port,
          host: '127.0.0.1',
          path: '/rpc',
          method: 'POST',
          ca: tls.ca,
          headers,
          ...own,
        });
        call.once('response', (answer) => resolve(answer.resume().statusCode ?? 0)).once('error', reject);
        call.end(JSON.stringify(STATUS));
      });
    expect(await status(made.client, token())).toBe(200);
    expect(await status(made.client, 'x')).toBe(401);
    await expect(status(undefined, token())).rejects.toThrow();
    await expect(status(made.stranger, token())).rejects.toThrow();
  });
});

it('a stop waits for a call in flight', async () => {
  const { bench, server, post } = await served();
  const [asked, gate] = [opening<void>(), opening<'running'>()];
  await bench.spawn(A);
  bench.provider.inspect = () => {
    asked.open();
    return gate.promise;
  };
  const call = post(STATUS);
  await asked.promise;
  const closed = server.close(30_000);
  gate.open('running');
  expect((await call).status).toBe(200);
  await closed;
  await expect(post(STATUS)).rejects.toThrow();
});

function opening<T>(): { promise: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open: (value) => open(value) };
}
