// `GET /session/{id}` with an upgrade: the connection of a control plane to one sandbox (docs/design/worker-sessions.md). Who calls, and
// under which lease, is checked before anything is opened; then the relay of the sandbox's agent session serves the stream.
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { SandboxIo } from '../agent/io.ts';
import type { SessionHold } from '../agent/sessions.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Ids } from '../domain/ports.ts';
import { connectionFailure } from '../http/connect-and-expect.ts';
import { logFailure, toServiceError } from '../http/errors.ts';
import { refuseRepeated } from '../http/headers/single-headers.ts';
import { answerAndClose } from '../http/raw-answer.ts';
import { onUpgrade } from '../http/socket/upgrades.ts';
import type { Lease } from '../schema/lease.ts';
import { validator } from '../schema/validator.ts';
import { EGRESS_PROTOCOL } from '../schema/worker-egress.ts';
import { SessionOpening } from '../schema/worker-rpc.ts';
import { serveEgress } from './egress-server.ts';
import { refOf, requireSame } from './ending.ts';
import type { WorkerParts } from './worker-parts.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

/** In all, over all sandboxes. */
export const LINKS_MAX = 4096;
const KEEP_ALIVE_MS = 15_000;
/** The protocol of the agent, and the one about outgoing connections. */
const PROTOCOLS = ['svc-agent', EGRESS_PROTOCOL];
const PATH = /^\/session\/([^/?#]{1,128})$/;
const switched = (protocol: string) =>
  `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nX-Svc-Agent: 1\r\n\r\n`;

const openingFault = validator(SessionOpening, 'X-Worker-Lease');

export interface SessionServer {
  /** Accepts no more links, and ends each once it has nothing to do. */
  drain(): void;
  /** Ends all links. */
  endAll(): void;
}

interface Upgrade {
  socket: Duplex;
  protocol: string;
  requestId: string;
  /** Aborts when the worker stops. */
  draining: AbortSignal;
}

export interface SessionServerDeps {
  parts: WorkerParts;
  ids: Ids;
  /** The connection no longer carries requests, and its caller is known. */
  detached(socket: Duplex): void;
}

/** Upgrades to other protocols are served as the plain requests that they also are. */
export function acceptSessions(server: Server, deps: SessionServerDeps): SessionServer {
  const links = new Set<Duplex>();
  const draining = new AbortController();
  const isOurs = (request: IncomingMessage) => PROTOCOLS.includes(protocolOf(request));
  onUpgrade(server, isOurs, (request, { socket, head }) => {
    links.add(socket);
    socket.once('close', () => links.delete(socket));
    const isFull = draining.signal.aborted || links.size > LINKS_MAX;
    const requestId = deps.ids.uuid();
    try {
      const sandbox = authorized(deps.parts, request);
      if (isFull) throw new ServiceError('unavailable', 'This worker does not accept more sessions.');
      deps.detached(socket);
      if (head.length > 0) socket.unshift(head);
      // Without request and head, which would stay in memory as long as the link.
      const upgrade = { socket, protocol: protocolOf(request), requestId, draining: draining.signal };
      void serve(deps.parts, sandbox, upgrade);
    } catch (error) {
      refuse(deps.parts, socket, requestId, error);
    }
  });
  return {
    drain: () => draining.abort(),
    endAll: () => {
      for (const socket of links) socket.destroy();
    },
  };
}

const protocolOf = ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() ?? '';

/** Until the link ends. Never rejects. */
async function serve(parts: WorkerParts, sandbox: WorkerSandbox, upgrade: Upgrade): Promise<void> {
  const { socket, requestId, protocol } = upgrade;
  try {
    if (protocol === EGRESS_PROTOCOL) return await outgoing(parts, sandbox, upgrade);
    const { io, release } = await opened(parts, sandbox, socket);
    try {
      if (!io.relay) throw noAgent();
      await link(upgrade, io.relay);
    } finally {
      release();
    }
  } catch (error) {
    if (!socket.destroyed) refuse(parts, socket, requestId, error);
  }
}

/** Ends when the worker drains: another one of its control plane's servers finds the gate as it is. */
async function outgoing(parts: WorkerParts, sandbox: WorkerSandbox, upgrade: Upgrade): Promise<void> {
  const { socket, draining } = upgrade;
  const { egress, clock, logger } = parts;
  if (!egress) throw new ServiceError('not_implemented', 'Egress policies are switched off on this worker.');
  switchTo(upgrade);
  const end = () => socket.destroy();
  draining.addEventListener('abort', end, { once: true });
  await serveEgress(socket, sandbox, { egress, clock, logger });
  draining.removeEventListener('abort', end);
}

/** A control plane that disconnects no longer waits for the session of the agent. */
async function opened(parts: WorkerParts, { record }: WorkerSandbox, socket: Duplex): Promise<SessionHold> {
  const left = new AbortController();
  const onClose = () => left.abort(new Error('the control plane disconnected'));
  socket.once('close', onClose);
  try {
    return await parts.sessions.acquire(refOf(record), left.signal);
  } finally {
    socket.off('close', onClose);
  }
}

function refuse({ logger }: WorkerParts, socket: Duplex, requestId: string, error: unknown): void {
  const failure = toServiceError(error);
  logFailure(logger, failure, requestId);
  answerAndClose(socket, failure, requestId);
}

async function link(upgrade: Upgrade, relay: NonNullable<SandboxIo['relay']>): Promise<void> {
  switchTo(upgrade);
  await relay(upgrade.socket, upgrade.draining);
}

function switchTo({ socket, protocol }: Upgrade): void {
  const tcp = socket as Duplex & {
    setNoDelay?(on: boolean): void;
    setKeepAlive?(on: boolean, afterMs: number): void;
  };
  tcp.setNoDelay?.(true);
  tcp.setKeepAlive?.(true, KEEP_ALIVE_MS);
  socket.write(switched(protocol));
}

/** Throws as docs/design/worker-sessions.md#opening-a-link says. */
function authorized(parts: WorkerParts, request: IncomingMessage): WorkerSandbox {
  const { credential, sandboxes: held, sessionsAllowed } = parts;
  const doubt = connectionFailure(request);
  if (doubt) throw doubt;
  refuseRepeated(request);
  const { headers, method, url = '' } = request;
  credential.requireCaller({
    worker_id: single(headers, 'x-worker-id'),
    token: single(headers, 'x-worker-token'),
  });
  const id = PATH.exec(url)?.[1];
  if (method !== 'GET' || id === undefined)
    throw new ServiceError('not_found', 'No resource exists at this path.', {
      remedy: 'Sessions are at /session/{id}.',
    });
  if (!sessionsAllowed) throw noAgent();
  const sandbox = held.find(id);
  const lease = leaseIn(single(headers, 'x-worker-lease'));
  credential.requireLease(lease, { resource_id: id, seen: sandbox?.record.generation ?? 0 });
  return running(sandbox, single(headers, 'x-svc-runtime') ?? '');
}

function running(sandbox: WorkerSandbox | undefined, runtime: string): WorkerSandbox {
  if (!sandbox || sandbox.record.state === 'ended')
    throw new ServiceError('not_found', 'This worker does not run this sandbox.');
  const slash = runtime.indexOf('/');
  const runtime_id = slash === -1 ? undefined : runtime.slice(slash + 1);
  requireSame(sandbox, {
    sandbox_id: sandbox.record.sandbox_id,
    provider: slash === -1 ? runtime : runtime.slice(0, slash),
    ...(runtime_id !== undefined && { runtime_id }),
  });
  if (sandbox.record.state === 'running') return sandbox;
  throw new ServiceError('conflict', 'The sandbox is starting or ending.');
}

function leaseIn(header: string | undefined): Lease {
  let lease: unknown;
  try {
    lease = JSON.parse(Buffer.from(header ?? '', 'base64url').toString());
  } catch {
    throw new ServiceError('bad_request', 'X-Worker-Lease is not a lease.');
  }
  const fault = openingFault({ lease });
  if (fault !== undefined) throw new ServiceError('bad_request', fault);
  return lease as Lease;
}

const single = (headers: IncomingMessage['headers'], name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
};

function noAgent(): ServiceError {
  return new ServiceError('not_implemented', 'This worker opens no sessions for this sandbox.');
}
