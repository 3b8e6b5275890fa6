// A connection that changes its protocol, against servers that answer as they should not. Nothing stays open of a failure.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { ServiceError } from '../../../../src/domain/errors.ts';
import { realClock } from '../../../../src/host/clock.ts';
import { type Outgoing, outgoing } from '../../../../src/providers/outgoing/outgoing.ts';
import { openRemoteSession } from '../../../../src/providers/remote/session.ts';
import { fakeIds, seededRandom, silentLogger } from '../../../support/fakes/ports.ts';
import { httpAnswer, type RawBackend, rawBackend } from '../../../support/scripted/raw-backend.ts';
import { until } from '../../../support/until.ts';

const SWITCHED =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: svc-agent\r\nX-Svc-Agent: 1\r\n\r\n';
const LEASE = {
  resource_id: 'sb-1',
  holder_id: 'w1',
  generation: 1,
  expires_at: '2030-01-01T00:00:00.000Z',
  signature: 's',
};
const MARK = 'text-of-the-other-side';
const closing: { close(): Promise<void> }[] = [];
/** Connections that the other side still has. */
const open = new Set<Socket>();
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
  open.clear();
});

async function backend(answer: (socket: Socket) => void): Promise<RawBackend> {
  const made = await rawBackend((socket) => {
    if (open.has(socket)) return;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    answer(socket);
  });
  closing.push(made);
  return made;
}

function client(baseUrl: string): Outgoing {
  const made = outgoing({ baseUrl, clock: realClock(), what: 'The worker', timeoutMs: 10_000 });
  closing.push(made);
  return made;
}

const ask = (to: Outgoing, more: { withinMs?: number; signal?: AbortSignal } = {}) =>
  to.upgrade({
    path: '/session/sb-1',
    headers: { 'x-worker-id': 'w1' },
    protocol: 'svc-agent',
    withinMs: 5000,
    ...more,
  });
const failure = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: ServiceError) => error,
  );
const nothingOpen = () => until('no open connection', () => open.size === 0);

describe('an upgrade', () => {
  it('hands over the stream, with the bytes that followed the reply', async () => {
    const there = await backend((socket) => socket.write(`${SWITCHED}first`));
    const upgraded = await ask(client(`${there.url}/base`));
    if (!('stream' in upgraded)) throw new Error(`no stream but ${upgraded.status}`);
    const { stream } = upgraded;
    const [data] = await once(stream, 'data');
    expect(String(data)).toBe('first');
    expect(there.received).toMatch(/^GET \/base\/session\/sb-1 HTTP\/1\.1\r\n/);
    expect(there.received).toMatch(/\r\nupgrade: svc-agent\r\n/i);
    stream.destroy();
    await nothingOpen();
  });

  it.each([
    ['200 OK', 200],
    ['400 Bad Request', 400],
    ['426 Upgrade Required', 426],
    ['302 Found', 302],
    ['503 Service Unavailable', 503],
  ])('that is answered by %s ends with that, and follows nothing', async (line, status) => {
    const there = await backend((socket) => socket.write(httpAnswer(line, MARK, ['location: /elsewhere'])));
    expect(await ask(client(there.url))).toEqual({ status, text: MARK });
    expect(there.connections).toBe(1);
  });

  it.each([
    ['another protocol', SWITCHED.replace('svc-agent', 'websocket')],
    ['several protocols', SWITCHED.replace('svc-agent', 'svc-agent, websocket')],
    ['no protocol', SWITCHED.replace('Upgrade: svc-agent\r\n', '')],
    ['no HTTP', `${MARK}\r\n\r\n`],
    ['two lengths', `HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx`],
  ])('that is answered by %s fails', async (_, answer) => {
    const there = await backend((socket) => socket.write(answer));
    const error = await failure(ask(client(there.url)));
    expect(['unavailable', 'provider_error']).toContain(error?.code);
    expect(error?.message).not.toContain(MARK);
    await nothingOpen();
  });

  it.each<[string, (socket: Socket) => void]>([
    [
      'headers without end',
      (socket) => flood(socket, 'HTTP/1.1 101 Switching Protocols\r\n', `a: ${'x'.repeat(1000)}\r\n`),
    ],
    [
      'one header without end',
      (socket) => flood(socket, 'HTTP/1.1 101 Switching Protocols\r\na: ', 'x'.repeat(1000)),
    ],
    ['a refusal without end', (socket) => flood(socket, 'HTTP/1.1 503 No\r\n\r\n', 'x'.repeat(1000))],
  ])('that is answered by %s fails before its deadline', async (_, answer) => {
    const there = await backend(answer);
    const before = performance.now();
    expect((await failure(ask(client(there.url))))?.code).toBeDefined();
    expect(performance.now() - before).toBeLessThan(4000);
    await nothingOpen();
  });

  it.each<[string, (socket: Socket) => void]>([
    ['nothing', () => undefined],
    ['a status line without end', (socket) => flood(socket, 'HTTP/1.1 101 ', 'x'.repeat(1000))],
    ['half a reply', (socket) => socket.write(SWITCHED.slice(0, -2))],
    ['hints without end', (socket) => flood(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n', 20)],
    ['a byte now and then', (socket) => dribble(socket, SWITCHED)],
    ['half a refusal', (socket) => socket.write(httpAnswer('503 No', MARK).subarray(0, -1))],
  ])('that is answered by %s fails at its deadline', async (_, answer) => {
    const there = await backend(answer);
    const before = performance.now();
    const error = await failure(ask(client(there.url), { withinMs: 300 }));
    expect(['unavailable', 'provider_error', 'timeout']).toContain(error?.code);
    expect(performance.now() - before).toBeLessThan(3000);
    await nothingOpen();
  });

  it.each([
    ['its own reply', Buffer.from(SWITCHED)],
    ['a refusal', httpAnswer('503 Service Unavailable', '{"code":"unavailable"}')],
  ])('whose connection closes at any byte of %s fails each time', async (_, reply) => {
    let length = 0;
    const there = await backend((socket) => socket.end(reply.subarray(0, length)));
    const to = client(there.url);
    for (; length < reply.length; length++) {
      const error = await failure(ask(to));
      expect([length, error?.code]).toEqual([length, 'unavailable']);
    }
    await nothingOpen();
  });

  it('is ended by its caller, before and after it was sent', async () => {
    const there = await backend(() => undefined);
    const reason = new Error('no longer wanted');
    await expect(ask(client(there.url), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const stop = new AbortController();
    const asked = failure(ask(client(there.url), { signal: stop.signal }));
    await until('the request', () => there.received.includes('svc-agent'));
    stop.abort(reason);
    expect(await asked).toBe(reason);
    await nothingOpen();
  });
});

describe('a session of a worker', () => {
  const deps = { clock: realClock(), random: seededRandom(), logger: silentLogger, ids: fakeIds() };
  const opened = (rpc_url: string) =>
    openRemoteSession(
      deps as unknown as Parameters<typeof openRemoteSession>[0],
      { worker: { id: 'w1', rpc_url, secret: 's'.repeat(43) }, outgoing: client(rpc_url) },
      { ref: { id: 'sb-1', epoch: 1, runtime_id: 'rt-1', lease: LEASE }, provider: 'userspace' },
      new AbortController().signal,
    );

  it.each([200, 301, 400, 404, 426, 502])(
    'that a proxy answers with %i says what is in between',
    async (status) => {
      const there = await backend((socket) => socket.write(httpAnswer(`${status} Any`, MARK)));
      const error = await failure(opened(there.url));
      expect(error).toMatchObject({
        code: 'unavailable',
        remedy: expect.stringContaining('pass on Upgrade'),
      });
      expect(JSON.stringify([error?.message, error?.details])).not.toContain(MARK);
    },
  );

  it.each([
    [404, 'not_found'],
    [409, 'conflict'],
    [501, 'not_implemented'],
  ])('that the worker refuses with %i is %s, without its words', async (status, code) => {
    const body = JSON.stringify({ code, message: MARK });
    const there = await backend((socket) => socket.write(httpAnswer(`${status} Any`, body)));
    const error = await failure(opened(there.url));
    expect(error).toMatchObject({ code });
    expect(error?.message).not.toContain(MARK);
  });

  it('that is answered by a flood after the reply fails', async () => {
    const there = await backend((socket) => flood(socket, SWITCHED, 'x'.repeat(1000)));
    expect((await failure(opened(there.url)))?.code).toBeDefined();
    await nothingOpen();
  });
});

/** Writes `head`, then `part` for as long as the connection is there. */
function flood(socket: Socket, head: string, part: string, everyMs = 1): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(part.repeat(everyMs === 1 ? 20 : 1)), everyMs);
  socket.once('close', () => clearInterval(timer));
}

/** So slowly that each byte comes in time, but not all of them. */
function dribble(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => socket.write(text.charAt(at++) || '\r'), 50);
  socket.once('close', () => clearInterval(timer));
}
