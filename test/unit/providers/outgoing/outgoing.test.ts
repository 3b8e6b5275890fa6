// Requests to configured URLs, against servers on real sockets that answer as they should not.
import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { ServiceError } from '../../../../src/domain/errors.ts';
import { realClock } from '../../../../src/host/clock.ts';
import {
  type Outgoing,
  type OutgoingOptions,
  type OutgoingRequest,
  outgoing,
} from '../../../../src/providers/outgoing/outgoing.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { httpAnswer, type RawBackend, rawBackend } from '../../../support/scripted/raw-backend.ts';
import { until } from '../../../support/until.ts';

const MARK = 'text-of-the-backend';
const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

async function backend(answer: (socket: Socket, asked: string) => void): Promise<RawBackend> {
  const made = await rawBackend(answer);
  closing.push(made);
  return made;
}

function way(baseUrl: string, more: Partial<OutgoingOptions> = {}): Outgoing {
  const made = outgoing({ baseUrl, clock: realClock(), what: 'The backend', timeoutMs: 10_000, ...more });
  closing.push(made);
  return made;
}

const get: OutgoingRequest = { method: 'GET', path: '/x' };
const whole = async (out: Outgoing, ask: Partial<OutgoingRequest> = {}) =>
  (await out.request({ ...get, ...ask })).json();
const failure = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: ServiceError) => error,
  );

/** A look-up that never leaves this process. */
const leadsTo = (...addresses: string[]) =>
  ((_name: string, _options: object, done: (error: null, found: LookupAddress[]) => void) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )) as unknown as NonNullable<OutgoingOptions['lookup']>;

describe('an outgoing request', () => {
  it('sends the request with its parts, and reads the answer', async () => {
    const there = await backend((socket) => socket.write(httpAnswer('200 OK', '{"a":1}')));
    const out = way(`${there.url}/base/`, { headers: { 'x-api-key': 'k' } });
    const reply = await out.request({
      method: 'POST',
      path: '/x',
      query: { q: 'a b&c', none: undefined, n: 1 },
      json: { b: 2 },
    });
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual({ a: 1 });
    expect(there.received).toContain('POST /base/x?q=a%20b%26c&n=1 HTTP/1.1');
    expect(there.received).toMatch(/x-api-key: k\r\n/);
    expect(there.received).toMatch(/accept-encoding: identity\r\n/);
    expect(there.received).toMatch(/\r\n\r\n\{"b":2\}$/);
  });

  it('keeps its connection, also after discarded answers', async () => {
    const there = await backend((socket) => socket.write(httpAnswer('404 Not Found', MARK)));
    const out = way(there.url);
    for (let round = 0; round < 20; round++) await (await out.request(get)).discard();
    // The pool may open a second one while the first is about to be free.
    expect(there.connections).toBeLessThanOrEqual(2);
  });

  it('delivers a body as it arrives', async () => {
    const there = await backend((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n'),
    );
    const reply = await way(there.url).request({ ...get, withinMs: 0 });
    for await (const part of reply.body()) {
      expect(part.toString()).toBe('one');
      break;
    }
  });
});

describe('addresses', () => {
  it.each([
    ['http://169.254.169.254/latest', "a cloud's metadata service"],
    ['http://[fe80::1]:8080', 'a link-local address'],
    ['http://[::ffff:169.254.169.254]', "a cloud's metadata service"],
    ['http://0.0.0.0:80', 'not the address of one host'],
    ['http://0', 'not the address of one host'],
    ['https://224.0.0.1', 'not the address of one host'],
  ])('%s is not contacted', async (url, fault) => {
    const error = await failure(whole(way(url)));
    expect(error).toMatchObject({ code: 'provider_error', sent: false });
    expect(error?.message).toBe(`The backend was not contacted: its address is ${fault}.`);
  });

  it('a name of a refused or loopback address is not contacted', async () => {
    const there = await backend((socket) => socket.write(httpAnswer('200 OK', '{}')));
    for (const address of ['169.254.169.254', '127.0.0.1', '::1', '::ffff:127.0.0.1', 'fe80::2']) {
      const error = await failure(
        whole(way(`http://backend.example:${there.port}`, { lookup: leadsTo(address) })),
      );
      expect(error, address).toMatchObject({ code: 'provider_error', sent: false });
    }
    expect(there.connections).toBe(0);
  });

  it('only permitted addresses of several are tried', async () => {
    const there = await backend((socket) => socket.write(httpAnswer('200 OK', '{}')));
    const out = way(`http://backend.example:${there.port}`, {
      lookup: leadsTo('169.254.169.254', '127.0.0.1'),
      allowLoopback: true,
    });
    expect(await whole(out)).toEqual({});
  });

  it('a name is checked at each connection', async () => {
    const there = await backend((socket) => socket.end(httpAnswer('200 OK', '{}', ['connection: close'])));
    let address = '127.0.0.1';
    const out = way(`http://backend.example:${there.port}`, {
      lookup: ((name: string, options: object, done: never) =>
        leadsTo(address)(name, options as never, done)) as never,
      allowLoopback: true,
    });
    expect(await whole(out)).toEqual({});
    address = '169.254.169.254';
    expect(await failure(whole(out))).toMatchObject({ code: 'provider_error', sent: false });
  });
});

describe('a hostile backend', () => {
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const TABLE: readonly [string, (socket: Socket) => void, Partial<OutgoingRequest>, string, RegExp][] = [
    [
      'redirects',
      (s) => s.write(httpAnswer('302 Found', MARK, ['location: http://169.254.169.254/'])),
      {},
      'provider_error',
      /redirect/,
    ],
    [
      'redirects for good',
      (s) => s.write(httpAnswer('308 x', MARK, ['location: /'])),
      {},
      'provider_error',
      /redirect/,
    ],
    [
      'compresses',
      (s) => s.write(httpAnswer('200 OK', gzipSync(Buffer.alloc(1 << 20)), ['content-encoding: gzip'])),
      {},
      'provider_error',
      /encoding/,
    ],
    ['says nothing', () => undefined, { idleMs: 300 }, 'unavailable', /in time/],
    ['says nothing at all', () => undefined, { withinMs: 300 }, 'unavailable', /in time/],
    ['drips', (s) => drip(s, chunked), { withinMs: 400, idleMs: 0 }, 'unavailable', /in time/],
    ['stops half-way', (s) => s.write(`${chunked}3\r\none\r\n`), { idleMs: 300 }, 'unavailable', /in time/],
    ['goes half-way', (s) => s.end(`${chunked}3\r\none\r\n`), {}, 'unavailable', /closed/],
    [
      'goes before its length',
      (s) => s.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}'),
      {},
      'unavailable',
      /closed/,
    ],
    ['goes at once', (s) => s.destroy(), {}, 'unavailable', /closed/],
    [
      'says more than asked for',
      (s) => s.write(httpAnswer('200 OK', MARK.repeat(100))),
      { maxBytes: 1000 },
      'provider_error',
      /too large/,
    ],
    ['never ends', (s) => flood(s, chunked), { maxBytes: 1 << 20 }, 'provider_error', /too large/],
    [
      'has endless headers',
      (s) => flood(s, `HTTP/1.1 200 OK\r\nx: `),
      {},
      'provider_error',
      /headers that are too large/,
    ],
    ['speaks no HTTP', (s) => s.write(`${MARK}\r\n\r\n`), {}, 'provider_error', /did not answer with HTTP/],
    [
      'speaks broken HTTP',
      (s) => s.write(`HTTP/1.1 200 OK\r\n${MARK}\r\n\r\n`),
      {},
      'provider_error',
      /did not answer with HTTP/,
    ],
    ['speaks no JSON', (s) => s.write(httpAnswer('200 OK', MARK)), {}, 'provider_error', /is not JSON/],
    ['speaks nothing', (s) => s.write(httpAnswer('200 OK', '')), {}, 'provider_error', /is not JSON/],
  ];

  it.each(TABLE)('that %s', async (_what, answer, ask, code, words) => {
    const there = await backend(answer);
    const error = await failure(whole(way(there.url), ask));
    expect(error).toMatchObject({ code, sent: true });
    expect(error?.message).toMatch(words);
    expect(JSON.stringify([error?.message, error?.remedy, String(error?.cause)])).not.toContain(MARK);
  });

  it('that is unreachable', async () => {
    const there = await backend(() => undefined);
    await there.close();
    const error = await failure(whole(way(there.url)));
    expect(error).toMatchObject({ code: 'unavailable', sent: false });
    expect(error?.message).toMatch(/cannot be reached/);
  });

  it('that has no valid TLS', async () => {
    const there = await backend((socket) => socket.write('no TLS'));
    const error = await failure(whole(way(there.url.replace('http:', 'https:'))));
    expect(error).toMatchObject({ code: 'unavailable' });
  });
});

describe('the end of a request by the caller', () => {
  it('an abort ends the request at once, with its reason', async () => {
    const there = await backend(() => undefined);
    const stop = new AbortController();
    const call = failure(whole(way(there.url), { signal: stop.signal }));
    await until('it is asked', () => there.received !== '');
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await call).toBe(reason);
    expect(await failure(whole(way(there.url), { signal: stop.signal }))).toBe(reason);
  });

  it('an abort reaches the body', async () => {
    const there = await backend((socket) => socket.write(httpAnswer('200 OK', '{}').subarray(0, -1)));
    const stop = new AbortController();
    const reply = await way(there.url).request({ ...get, signal: stop.signal });
    const call = failure(reply.json());
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await call).toBe(reason);
  });

  it('leaves no timer behind', async () => {
    const clock = fakeClock();
    const there = await backend((socket) => socket.write(httpAnswer('200 OK', '{}')));
    const out = way(there.url, { clock });
    await whole(out);
    await (await out.request(get)).discard();
    await failure((async () => (await out.request({ ...get, maxBytes: 1 })).bytes())());
    expect(clock.pending()).toBe(0);
  });

  it('closing ends what is in flight', async () => {
    const there = await backend(() => undefined);
    const out = way(there.url);
    const call = failure(whole(out));
    await until('it is asked', () => there.received !== '');
    await out.close();
    await out.close();
    expect(await call).toMatchObject({ code: 'unavailable' });
  });

  it('a closed client opens no connection', async () => {
    const there = await backend(() => undefined);
    const out = way(there.url);
    await out.close();
    expect(await failure(whole(out))).toMatchObject({ code: 'unavailable' });
    expect(there.received).toBe('');
  });
});

function drip(socket: Socket, head: string): void {
  socket.write(head);
  const timer = setInterval(() => socket.write('1\r\n \r\n'), 20);
  socket.on('close', () => clearInterval(timer));
}

function flood(socket: Socket, head: string): void {
  const piece = head.startsWith('HTTP/1.1 200 OK\r\nx')
    ? 'y'.repeat(4096)
    : `1000\r\n${'z'.repeat(4096)}\r\n`;
  socket.write(head);
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}
