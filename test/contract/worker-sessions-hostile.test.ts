// What a hostile worker can do to the control plane that opens a session with it: cost it one call, or one link, in bounded time
// and memory. Real connections; who may open a session on a worker is in worker-sessions.test.ts.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { encodeFrame } from '../../src/agent/frame.ts';
import type { SandboxIo } from '../../src/agent/io.ts';
import { FIRST_CREDIT, TYPE } from '../../src/agent/protocol.ts';
import { WireWriter } from '../../src/agent/wire.ts';
import { asServiceError, type ServiceError } from '../../src/domain/errors.ts';
import { signLease } from '../../src/domain/lease.ts';
import { realClock } from '../../src/host/clock.ts';
import { remoteProviders } from '../../src/providers/remote/remote-providers.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { SECRET } from '../support/servers/worker-fixture.ts';
import { until } from '../support/until.ts';

const [A, B] = ['sb-aaaaaaaaaaaa', 'sb-bbbbbbbbbbbb'];
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: svc-agent\r\n\r\n';
const MARK = 'text-of-the-worker';

/** What the control plane said first on a link: its tag and nonce. */
interface Greeting {
  socket: Duplex;
  tag: number;
  nonce: Buffer;
}
const welcome = ({ tag, nonce }: Greeting) =>
  encodeFrame(
    { type: TYPE.WELCOME, stream: 0, tag },
    new WireWriter().raw(nonce).u8(1).str('hostile').u64(1n).u32(0).bytes(),
  );

/** A worker whose links do what `link` says; with the sockets that are open to it. */
async function hostile(link: (request: IncomingMessage, socket: Duplex) => void) {
  const sockets = new Set<Duplex>();
  const server: Server = createServer();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (request, socket) => {
    link(request, socket);
    // An end is seen only by who reads.
    socket.on('end', () => socket.end()).resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const deps = { ...fakeDeps(), clock: realClock(), allowLoopback: true };
  const remote = remoteProviders(deps);
  onTestFinished(async () => {
    await remote.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const worker = { id: 'w1', rpc_url: `http://127.0.0.1:${port}`, secret: SECRET };
  const lease = { resource_id: A, holder_id: 'w1', generation: 1, expires_at: '2030-01-01T00:00:00.000Z' };
  const attach = (id: string): Promise<SandboxIo> =>
    remote
      .of(worker, 'userspace')
      .attach(
        { id, epoch: 1, lease: signLease(SECRET, { ...lease, resource_id: id }) },
        AbortSignal.timeout(60_000),
      );
  return { attach, sockets };
}

/** The same, for links that are opened as they should be: `run` has what the control plane then said. */
function opening(run: (greeting: Greeting, request: IncomingMessage) => void) {
  return hostile((request, socket) => {
    socket.write(SWITCHED);
    socket.once('data', (hello: Buffer) => {
      const greeting = { socket, tag: hello.readUInt32LE(hello.length - 4), nonce: hello.subarray(10, 26) };
      socket.write(welcome(greeting));
      run(greeting, request);
    });
  });
}

const failure = async (call: Promise<unknown>): Promise<ServiceError> =>
  asServiceError(
    await call.then(
      () => new Error('it succeeded'),
      (error: unknown) => error,
    ),
  );
const spec = { exec_id: 'ex-1', argv: ['true'], label: 'true', env: {} };
/** 5 s for the upgrade and 5 s for the first answer, on a busy machine. */
const OPENED_MS = 15_000;

/** Writes `bytes` for as long as anybody takes them. */
function flood(socket: Duplex, bytes: Buffer | string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
    if (!socket.destroyed) socket.once('drain', more);
  };
  more();
}

describe('a hostile worker', () => {
  it.each<[string, (socket: Duplex) => void]>([
    ['does not answer', () => undefined],
    ['answers byte by byte', (socket) => drip(socket, `HTTP/1.1 101 S\r\nX: ${'x'.repeat(9999)}`)],
    ['sends headers without an end', (socket) => flood(socket, `X-${MARK}: ${'x'.repeat(1000)}\r\n`)],
    [
      'refuses without an end',
      (socket) => {
        socket.write(`HTTP/1.1 503 ${MARK}\r\ntransfer-encoding: chunked\r\n\r\n`);
        flood(socket, `400\r\n${MARK.padEnd(1024, 'x')}\r\n`);
      },
    ],
    ['switches and says nothing', (socket) => socket.write(SWITCHED)],
    [
      'switches and floods',
      (socket) => {
        socket.write(SWITCHED);
        flood(socket, Buffer.alloc(65_536, MARK));
      },
    ],
    [
      'switches and welcomes somebody else',
      (socket) => {
        socket.write(SWITCHED);
        socket.write(welcome({ socket, tag: 0x01010101, nonce: Buffer.alloc(16, 7) }));
      },
    ],
    [
      'switches and goes',
      (socket) => {
        socket.write(SWITCHED);
        socket.end();
      },
    ],
  ])('that %s costs one call, soon and in our words', async (_name, act) => {
    const { attach, sockets } = await hostile((_request, socket) => act(socket));
    const before = process.memoryUsage.rss();
    const began = performance.now();
    const error = await failure(attach(A));
    expect(['unavailable', 'provider_error']).toContain(error.code);
    expect(JSON.stringify([error.message, error.remedy, error.details])).not.toContain(MARK);
    expect(performance.now() - began).toBeLessThan(OPENED_MS);
    await until('its connection to be closed', () => sockets.size === 0);
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
  });

  it.each<[string, (greeting: Greeting, stream: number) => void]>([
    ['names a stream of another sandbox', ({ socket, tag }) => socket.write(frame(TYPE.RESULT, 77, tag))],
    [
      'uses the tag of another link',
      ({ socket, tag }, n) => socket.write(frame(TYPE.RESULT, n, (tag ^ 1) >>> 0)),
    ],
    [
      'floods beyond the credit',
      ({ socket, tag }, n) => {
        const data = frame(TYPE.DATA, n, tag, Buffer.alloc(65_537, 1));
        for (let sent = 0; sent <= FIRST_CREDIT; sent += 65_536) socket.write(data);
      },
    ],
    ['forges an end of another kind', ({ socket, tag }, n) => socket.write(frame(TYPE.RESULT, n, tag))],
    [
      'ends a command twice',
      ({ socket, tag }, n) => {
        const end = frame(TYPE.ERROR, n, tag, new WireWriter().u32(5).str(MARK).bytes());
        socket.write(Buffer.concat([end, end]));
      },
    ],
    ['cuts a frame and goes', ({ socket, tag }, n) => socket.end(frame(TYPE.RESULT, n, tag).subarray(0, 7))],
  ])('that %s loses that link, and no other', async (_name, act) => {
    const { attach } = await opening(({ socket, tag, ...rest }, request) => {
      const isHostile = request.url?.endsWith(A);
      socket.once('data', (open: Buffer) => {
        if (isHostile) return act({ socket, tag, ...rest }, open.readUInt32LE(5));
        const pong = new WireWriter().u64(1n).u32(0).bytes();
        socket.write(frame(TYPE.RESULT, open.readUInt32LE(5), tag, pong));
      });
    });
    const [bad, good] = await Promise.all([attach(A), attach(B)]);
    const error = await failure(bad.exec(spec).exit);
    expect(JSON.stringify([error.message, error.remedy, error.details])).not.toContain(MARK);
    await bad.closed;
    await good.ping();
    good.close();
  });

  it('that answers no pings loses the connection after 30 s, and its commands fail', {
    timeout: 60_000,
  }, async () => {
    const { attach, sockets } = await opening(() => undefined);
    const io = await attach(A);
    const began = performance.now();
    expect((await failure(io.exec(spec).exit)).code).toBe('unavailable');
    expect(performance.now() - began).toBeLessThan(45_000);
    await io.closed;
    await until('its connection to be closed', () => sockets.size === 0);
  });
});

const frame = (type: number, stream: number, tag: number, payload: Buffer = Buffer.alloc(0)) =>
  encodeFrame({ type, stream, tag }, payload);

function drip(socket: Duplex, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (socket.destroyed || at >= text.length) clearInterval(timer);
    else socket.write(text[at++]);
  }, 50);
}
