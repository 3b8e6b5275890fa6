// `GET /session/{id}` of a worker, over real connections: each refusal comes before anything is opened, ends the connection,
// and tells nothing of others.
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { freshToken } from '../../src/domain/worker-token.ts';
import { realClock } from '../../src/host/clock.ts';
import type { Lease } from '../../src/schema/lease.ts';
import { rpcServer } from '../../src/worker/rpc-server.ts';
import { LINKS_MAX } from '../../src/worker/session-server.ts';
import type { WorkerParts } from '../../src/worker/worker-parts.ts';
import { fakeIds } from '../support/fakes/ports.ts';
import { rawExchange } from '../support/servers/http-server.ts';
import { SECRET, type WorkerFixture, workerFixture } from '../support/servers/worker-fixture.ts';
import { until } from '../support/until.ts';

const A = 'sb-aaaaaaaaaaaa';
const B = 'sb-bbbbbbbbbbbb';
const SWITCHED = /^HTTP\/1\.1 101 Switching Protocols\r\n.*X-Svc-Agent: 1\r\n\r\n/s;

let bench: WorkerFixture;
let server: ReturnType<typeof rpcServer>;
let parts: WorkerParts;
let port: number;
/** What relays received, by connection. */
let relayed: Buffer[];
let attached: number;
/** Of sandbox A. */
let runtime: string;

beforeEach(async () => {
  bench = await workerFixture();
  [relayed, attached] = [[], 0];
  const { attach } = bench.provider;
  bench.provider.attach = async (ref, signal) => {
    attached++;
    const io = await attach(ref, signal);
    io.relay = async (stream) => {
      stream.on('end', () => stream.end());
      stream.on('data', (data: Buffer) => {
        relayed.push(data);
        stream.write(data);
      });
      await new Promise((resolve) => stream.once('close', resolve));
    };
    return io;
  };
  parts = { ...bench.parts, clock: { ...realClock(), now: () => bench.clock.now() } };
  server = rpcServer({ parts, ids: fakeIds(), address: { host: '127.0.0.1', port: 0 } });
  port = await server.listen();
  onTestFinished(() => server.close(0));
  await bench.spawn(A);
  runtime = `userspace/${bench.provider.of(A).runtime_id}`;
});

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const tokenFor = (over: object = {}) =>
  freshToken(SECRET, { worker_id: 'w1', aud: 'worker:rpc', jti: 'j', now: bench.clock.now(), ...over });

type Headers = Record<string, string | undefined>;
/** The request of a control plane, with other headers where a test says so. */
function opening(over: Headers = {}, { id = A, line = '' } = {}): string {
  const headers: Headers = {
    Host: 'w',
    Connection: 'Upgrade',
    Upgrade: 'svc-agent',
    'X-Worker-ID': 'w1',
    'X-Worker-Token': tokenFor(),
    'X-Worker-Lease': base64(bench.lease(A, 1)),
    'X-Svc-Runtime': runtime,
    ...over,
  };
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  return `${[line || `GET /session/${id} HTTP/1.1`, ...given.map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n\r\n`;
}

async function refusal(request: string): Promise<{ status: number; code: unknown; text: string }> {
  const { text, closed } = await rawExchange(port, request);
  expect(closed, text).toBe(true);
  const [, status = '0'] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
  const body = text.slice(text.indexOf('\r\n\r\n') + 4);
  return { status: Number(status), code: (JSON.parse(body) as { code?: unknown }).code, text };
}

const lease = (over: Partial<Lease>, generation = 1, id = A) => ({
  'X-Worker-Lease': base64(bench.lease(id, generation, over)),
});

describe('a link is opened', () => {
  it('with a token, the lease and the runtime of a running sandbox; bytes behind the request belong to it', async () => {
    const { text, closed } = await rawExchange(port, `${opening()}GET /rpc HTTP/1.1\r\n\r\n`, 500);
    expect(closed).toBe(false);
    expect(text).toMatch(SWITCHED);
    // Not a second request: the relay has it.
    expect(text.replace(SWITCHED, '')).toBe('GET /rpc HTTP/1.1\r\n\r\n');
    expect(Buffer.concat(relayed).toString()).toBe('GET /rpc HTTP/1.1\r\n\r\n');
  });

  it('by the secret itself, with a later generation, and without the id of the runtime', async () => {
    for (const over of [{ 'X-Worker-Token': SECRET }, lease({}, 7), { 'X-Svc-Runtime': 'userspace' }])
      expect((await rawExchange(port, opening(over), 300)).text).toMatch(SWITCHED);
  });
});

describe('a link is refused', () => {
  const past = () => new Date(bench.clock.now() - 60_000).toISOString();
  const refusals: [string, () => Headers, number, string][] = [
    ['without a token', () => ({ 'X-Worker-Token': undefined }), 401, 'unauthorized'],
    ['with a wrong token', () => ({ 'X-Worker-Token': `${SECRET}x` }), 401, 'unauthorized'],
    [
      'with a token for heartbeats',
      () => ({ 'X-Worker-Token': tokenFor({ aud: 'worker:control-plane' }) }),
      401,
      'unauthorized',
    ],
    [
      'with a token that has expired',
      () => ({ 'X-Worker-Token': tokenFor({ now: bench.clock.now() - 600_000 }) }),
      401,
      'unauthorized',
    ],
    [
      'with a token of another worker',
      () => ({ 'X-Worker-Token': tokenFor({ worker_id: 'w2' }) }),
      403,
      'forbidden',
    ],
    ['without the id of a worker', () => ({ 'X-Worker-ID': undefined }), 401, 'unauthorized'],
    ['for another worker', () => ({ 'X-Worker-ID': 'w2' }), 403, 'forbidden'],
    ['without a lease', () => ({ 'X-Worker-Lease': undefined }), 400, 'bad_request'],
    ['with a lease that is not JSON', () => ({ 'X-Worker-Lease': 'e30x' }), 400, 'bad_request'],
    ['with a lease of another shape', () => ({ 'X-Worker-Lease': base64([]) }), 400, 'bad_request'],
    ['with the lease of another sandbox', () => lease({}, 1, B), 403, 'forbidden'],
    ['with the lease of another worker', () => lease({ holder_id: 'w2' }), 403, 'forbidden'],
    ['with a lease that has expired', () => lease({ expires_at: past() }), 403, 'forbidden'],
    [
      'with a lease that was changed',
      () => ({ 'X-Worker-Lease': base64({ ...bench.lease(A, 1), generation: 2 }) }),
      403,
      'forbidden',
    ],
    ['without a runtime', () => ({ 'X-Svc-Runtime': undefined }), 404, 'not_found'],
    ['with another runtime', () => ({ 'X-Svc-Runtime': 'userspace/rt-99' }), 404, 'not_found'],
    [
      'with another provider',
      () => ({ 'X-Svc-Runtime': runtime.replace('userspace', 'container') }),
      404,
      'not_found',
    ],
    [
      'with a body announced twice',
      () => ({ 'Content-Length': '5', 'Transfer-Encoding': 'chunked' }),
      400,
      'bad_request',
    ],
    ['with an expectation', () => ({ Expect: 'tea' }), 417, 'bad_request'],
  ];

  describe.each(['svc-agent', 'svc-egress'])('of %s', (Upgrade) => {
    it.each(refusals)('%s', async (_, over, status, code) => {
      expect(await refusal(opening({ Upgrade, ...over() }))).toMatchObject({ status, code });
      expect([attached, relayed]).toEqual([0, []]);
    });
  });

  it('about outgoing connections where egress is switched off, once the caller is known', async () => {
    const Upgrade = 'svc-egress';
    expect(await refusal(opening({ Upgrade }))).toMatchObject({ status: 501, code: 'not_implemented' });
    expect(await refusal(opening({ Upgrade, 'X-Worker-Token': 'x' }))).toMatchObject({ status: 401 });
  });

  it.each(['x-worker-token', 'x-worker-lease', 'x-worker-id'])('with %s twice', async (name) => {
    const request = opening().replace('Host: w\r\n', `Host: w\r\n${name}: w1\r\n`);
    expect(await refusal(request)).toMatchObject({ status: 400, code: 'bad_request' });
    expect(attached).toBe(0);
  });

  it('at a sandbox that is not here, and tells no more than that', async () => {
    const unknown = await refusal(opening(lease({}, 1, B), { id: B }));
    expect(unknown).toMatchObject({ status: 404, code: 'not_found' });
    expect(unknown.text).not.toContain(A);
    expect(unknown.text).not.toContain(bench.provider.of(A).runtime_id);
  });

  it.each([
    ['another method', `POST /session/${A} HTTP/1.1`],
    ['a path below', `GET /session/${A}/x HTTP/1.1`],
    ['a query', `GET /session/${A}?a=1 HTTP/1.1`],
    ['an absolute address', `GET http://w/session/${A} HTTP/1.1`],
    ['a path that is too long', `GET /session/${'s'.repeat(129)} HTTP/1.1`],
    ['calls', 'GET /rpc HTTP/1.1'],
  ])('at %s', async (_, line) => {
    expect(await refusal(opening({}, { line }))).toMatchObject({ status: 404, code: 'not_found' });
    expect(attached).toBe(0);
  });

  it('once the sandbox has ended, and under an older lease than one that was seen', async () => {
    await bench.call('worker.destroy', { sandbox_id: A, provider: 'userspace' }, bench.lease(A, 5));
    expect(await refusal(opening(lease({}, 4)))).toMatchObject({ status: 403 });
    expect(await refusal(opening(lease({}, 5)))).toMatchObject({ status: 404 });
  });

  it.each(['starting', 'ending'] as const)('while the sandbox is %s', async (state) => {
    await parts.sandboxes.note(A, { state });
    expect(await refusal(opening())).toMatchObject({ status: 409, code: 'conflict' });
    expect(attached).toBe(0);
  });

  it('where sessions are off, and where the provider has no agent', async () => {
    const { attach } = bench.provider;
    bench.provider.attach = async (ref, signal) =>
      Object.assign(await attach(ref, signal), { relay: undefined });
    expect(await refusal(opening())).toMatchObject({ status: 501, code: 'not_implemented' });
    parts.sessionsAllowed = false;
    expect(await refusal(opening())).toMatchObject({ status: 501, code: 'not_implemented' });
    // Who is not allowed in does not learn of the setting.
    expect(await refusal(opening({ 'X-Worker-Token': 'x' }))).toMatchObject({ status: 401 });
  });

  it('where the agent does not answer', async () => {
    bench.provider.attach = () => Promise.reject(new Error('nobody is there'));
    const { status, text } = await refusal(opening());
    expect(status).toBe(500);
    expect(text).not.toContain('nobody is there');
  });

  it('with headers beyond what one may send', async () => {
    const large = await rawExchange(port, opening({ 'X-More': 'x'.repeat(70_000) }));
    expect([large.text.slice(0, 12), large.closed]).toEqual(['HTTP/1.1 431', true]);
    const many = await rawExchange(port, opening().replace('\r\n\r\n', `\r\n${'A:\r\n'.repeat(260)}\r\n`));
    expect([many.text.slice(0, 12), many.closed]).toEqual(['HTTP/1.1 431', true]);
    expect(attached).toBe(0);
  });

  it.each(['svc-agent/2', 'svc-agent, websocket', 'h2c', 'websocket'])(
    'as a plain request when it offers %s',
    async (protocol) => {
      const { text } = await rawExchange(port, opening({ Upgrade: protocol }), 500);
      expect(text).toMatch(/^HTTP\/1\.1 404 /);
      expect(attached).toBe(0);
    },
  );

  it('behind a request that is refused, on the same connection', async () => {
    const plain =
      'POST /rpc HTTP/1.1\r\nHost: w\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
    const { text } = await rawExchange(port, plain + opening({ 'X-Worker-Token': 'x' }));
    expect(text.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 401']);
    expect(attached).toBe(0);
  });

  it('while the worker stops', async () => {
    const held = connect(port, '127.0.0.1');
    onTestFinished(() => void held.destroy());
    const first = opening();
    let text = '';
    held.on('data', (data) => {
      text += data;
    });
    held.write(first);
    await until('the link', () => SWITCHED.test(text));
    const late = connect(port, '127.0.0.1');
    onTestFinished(() => void late.destroy());
    await new Promise((resolve) => late.once('connect', resolve));
    const answered = new Promise<string>((resolve) => {
      late.once('data', (data) => resolve(data.toString()));
      late.once('close', () => resolve('closed'));
      late.on('error', () => undefined);
    });
    const closed = server.close(0);
    late.write(opening());
    expect(await answered).toMatch(/^HTTP\/1\.1 503 |^closed$/);
    await closed;
    await until('the end of the link', () => held.destroyed);
  });
});

it(`serves ${LINKS_MAX} links, no more, and another once one ends`, { timeout: 120_000 }, async () => {
  const links = [];
  while (links.length < LINKS_MAX)
    links.push(...(await Promise.all(Array.from({ length: 64 }, () => link()))));
  expect(links.filter(({ status }) => status !== 101)).toEqual([]);
  expect((await link()).status).toBe(503);
  links[0]?.socket.destroy();
  await until('the free place', async () => (await link()).status === 101);
});

it('shows neither token nor lease in what it refuses', async () => {
  const [token, signed] = [tokenFor(), bench.lease(A, 1)];
  const texts = [
    await refusal(opening({ 'X-Worker-Token': token, 'X-Svc-Runtime': 'userspace/rt-99' })),
    await refusal(opening({ 'X-Worker-Token': `${token}x` })),
    await refusal(opening({ 'X-Worker-Lease': base64({ ...signed, generation: 9 }) })),
  ].map(({ text }) => text);
  for (const secret of [SECRET, token, signed.signature, digest(SECRET)])
    for (const text of texts) expect(text).not.toContain(secret);
});

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

async function link() {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const text = await new Promise<string>((resolve) => {
    socket.once('data', (data) => resolve(data.toString()));
    socket.on('error', () => resolve(''));
    socket.write(opening());
  });
  return { socket, status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0) };
}
