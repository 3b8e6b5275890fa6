// A gate with programs and targets around it: programs connect to a port of this machine as if it were the proxy port of a sandbox,
// targets are servers of this machine that stand for public addresses. Which addresses were dialed and which names were looked up
// is remembered.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { GateConnection } from '../../../src/agent/gate-io.ts';
import type { SandboxIo } from '../../../src/agent/io.ts';
import { egressLayer } from '../../../src/domain/egress/layers.ts';
import type {
  AppliedEgress,
  Egress,
  EgressDeps,
  EgressEvent,
  EgressGate,
  EgressSettings,
} from '../../../src/egress/egress.ts';
import { openEgress } from '../../../src/egress/open-egress.ts';
import { realClock } from '../../../src/host/clock.ts';
import { realRandom } from '../../../src/host/random.ts';
import type { EgressPolicy } from '../../../src/schema/egress.ts';

export const SANDBOX = 'sb-000000000001';

export interface EgressSide {
  egress: Egress;
  gate: EgressGate;
  /** A connection of a program to the proxy port. */
  program(): Promise<Socket>;
  /** `address:port`, in the order of the attempts. */
  dialed: string[];
  lookups: string[];
  events: EgressEvent[];
  settings: { -readonly [K in keyof EgressSettings]: EgressSettings[K] };
  /** Ends the session. */
  endSession(): void;
}

export interface SideOptions {
  policy?: Partial<AppliedEgress>;
  rules?: EgressPolicy;
  /** Addresses by name. */
  names?: Record<string, readonly string[]>;
  /** Servers of this machine by the `address:port` that they stand for. */
  targets?: Record<string, number>;
  settings?: Partial<EgressSettings>;
  deps?: Partial<EgressDeps>;
  /** The user of the programs that connect next. */
  uid?: () => number | undefined;
}

export function applied(rules: EgressPolicy, more: Partial<AppliedEgress> = {}): AppliedEgress {
  return {
    layers: [egressLayer('spawn', rules, {})],
    isPermittedPrivate: () => false,
    max_connections: 64,
    rate: 0,
    max_bytes: 0,
    credentials: [],
    log: 'denied',
    ...more,
  };
}

/** Closed with the test. */
export async function egressSide(options: SideOptions = {}): Promise<EgressSide> {
  const { names = {}, targets = {} } = options;
  const [dialed, lookups, events]: [string[], string[], EgressEvent[]] = [[], [], []];
  const settings = {
    ...{ proxy_port: 7424, connect_timeout: 5000, idle_timeout: 60_000, max_connections: 100 },
    ...{ new_connections_per_minute: 1200, resolver: 'system' as const },
    ...options.settings,
  };
  const egress = openEgress({
    settings: () => settings,
    clock: realClock(),
    random: realRandom(),
    onEvent: (event) => void events.push(event),
    resolver: {
      lookup: async (name) => {
        lookups.push(name);
        return { addresses: names[name] ?? [], ttlMs: 0 };
      },
    },
    dial: async (address, port) => {
      const place = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
      dialed.push(place);
      const local = targets[place];
      if (local === undefined) throw new Error('nothing listens');
      const socket = connect({ port: local, host: '127.0.0.1', allowHalfOpen: true });
      await once(socket, 'connect');
      return { socket, peer: address };
    },
    ownAddresses: () => ['198.51.100.7', '2001:db8::7'],
    ...options.deps,
  });
  const gate = egress.open(SANDBOX, applied(options.rules ?? {}, options.policy));
  const { io, port, end } = await proxyPort(options.uid);
  await gate.serve(io);
  onTestFinished(async () => {
    await egress.close();
    end();
  });
  const program = async () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  return { egress, gate, program, dialed, lookups, events, settings, endSession: end };
}

/** What an agent gives of its proxy port, over real sockets. */
export async function proxyPort(
  uid: () => number | undefined = () => 1000,
): Promise<{ io: SandboxIo; port: number; end(): void }> {
  const waiting: { resolve(connection: GateConnection): void; reject(error: Error): void }[] = [];
  const came: Socket[] = [];
  let isOver: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    isOver = resolve;
  });
  const server = await listening((socket) => {
    came.push(socket);
    hand();
  });
  const hand = () => {
    while (came.length > 0 && waiting.length > 0) {
      const socket = came.shift() as Socket;
      const origin = { uid: uid(), peerPort: socket.remotePort ?? 0 };
      waiting.shift()?.resolve({ origin, socket });
    }
  };
  const gate = {
    open: async () => ({ proxy: true, gate: true, missing: [] }),
    accept: (signal: AbortSignal) =>
      new Promise<GateConnection>((resolve, reject) => {
        const one = { resolve, reject };
        waiting.push(one);
        signal.addEventListener('abort', () => {
          if (waiting.includes(one)) waiting.splice(waiting.indexOf(one), 1);
          reject(signal.reason);
        });
        hand();
      }),
  };
  const end = () => {
    isOver();
    server.close();
    for (const each of waiting.splice(0)) each.reject(new Error('over'));
  };
  const io = { gate, closed } as unknown as SandboxIo;
  return { io, port: (server.address() as AddressInfo).port, end };
}

/** A server of this machine, closed with the test. */
export async function target(serve: (socket: Socket) => void): Promise<number> {
  return ((await listening(serve)).address() as AddressInfo).port;
}

async function listening(serve: (socket: Socket) => void): Promise<Server> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return server;
}

/** All that arrives until the end; also of a connection that is reset. */
export async function textUntilEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!socket.readableEnded && !socket.destroyed)
    await new Promise<void>((resolve) => socket.once('end', resolve).once('close', () => resolve()));
  return Buffer.concat(chunks).toString('latin1');
}

/** Waits for what `socket` is sent, until `mark` is in it, or the end. */
export async function textUntil(socket: Socket, mark: string): Promise<string> {
  let text = '';
  while (!text.includes(mark)) {
    const chunk: Buffer | null = socket.read();
    if (chunk) text += chunk.toString('latin1');
    if (chunk) continue;
    if (socket.readableEnded || socket.destroyed) break;
    await new Promise<void>((resolve) => {
      const done = () => {
        socket.off('readable', done).off('end', done).off('close', done);
        resolve();
      };
      socket.on('readable', done).on('end', done).on('close', done);
    });
  }
  const end = text.indexOf(mark) + mark.length;
  if (!text.includes(mark) || end === text.length) return text;
  // What came with it is for the next reader.
  socket.unshift(Buffer.from(text.slice(end), 'latin1'));
  return text.slice(0, end);
}
