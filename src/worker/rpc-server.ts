// `POST /rpc`: who calls is asked before a byte of the body is read. Everything else is as at the server: one shape of
// error, bounded headers and bodies, a pace, one answer for each request.
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type SecureContextOptions, Server as TlsServer } from 'node:tls';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../domain/errors.ts';
import type { Ids } from '../domain/ports.ts';
import { checkBody, JSON_TYPE } from '../http/body/body.ts';
import { watchPace } from '../http/body/slow-body.ts';
import { disconnectSignal } from '../http/client-disconnect.ts';
import { connectionFailure } from '../http/connect-and-expect.ts';
import { limitConnections } from '../http/connections.ts';
import { createFastify, type ServerTls } from '../http/framework.ts';
import { refuseRepeated } from '../http/headers/single-headers.ts';
import { type InFlight, inFlight } from '../http/in-flight.ts';
import { answerAndClose } from '../http/raw-answer.ts';
import { acceptImports, IMPORT_PATH } from './import-server.ts';
import { answerRpc } from './rpc.ts';
import { acceptSessions, LINKS_MAX } from './session-server.ts';
import type { WorkerParts } from './worker-parts.ts';

const BODY_LIMIT = 256 * 1024;
/** Links into sandboxes are not counted by address: who opened one has proved who it is. */
const CONNECTIONS = { most: 512 + LINKS_MAX, perAddress: 256, unbounded: [] };

interface RpcServerDeps {
  parts: WorkerParts;
  ids: Ids;
  address: { host: string; port: number };
  tls?: ServerTls | undefined;
}

export interface RpcServer {
  /** Begins to listen; the port. Throws `unavailable` when it cannot. */
  listen(): Promise<number>;
  /** Connections from now on are taken by these; harmless where none are taken by TLS. */
  secure(tls: ServerTls): void;
  /** Takes no more, waits for calls in flight at most `graceMs`, then ends the rest. */
  close(graceMs: number): Promise<void>;
}

export function rpcServer({ parts, ids, address, tls }: RpcServerDeps): RpcServer {
  const { clock, logger } = parts;
  const running = inFlight();
  const app = createFastify({ clock, ids, logger, always: alwaysHook(parts, running), ...(tls && { tls }) });
  app.server.on('connection', running.connected);
  const uncount = limitConnections(app.server, CONNECTIONS, parts);
  const detached = (socket: Duplex) => {
    running.detached(socket);
    uncount(socket);
  };
  const sessions = acceptSessions(app.server, { parts, ids, detached });
  app.addHook('onRequest', ({ is404, raw }, _reply, done) => done(is404 ? unrouted(raw.url) : undefined));
  app.route({
    method: 'POST',
    url: '/rpc',
    bodyLimit: BODY_LIMIT,
    onRequest: (request, _reply, done) => done(callerFault(parts, request)),
    preParsing: async (request, reply) => watchPace(request.raw, clock, () => tooSlow(request, reply)),
    handler: async (request, reply) => {
      const terms = { requestId: request.id, signal: disconnectSignal(reply.raw) };
      const { status, answer } = await answerRpc(parts, request.body, terms);
      return reply.code(status).send(answer);
    },
  });
  acceptImports(app, {
    parts,
    authorize: ({ raw }) => requireControlPlane(parts, raw),
    watchPace: (request, reply) => watchPace(request.raw, clock, () => tooSlow(request, reply)),
  });
  return {
    listen: () => listen(app, address),
    secure: (next) => {
      if (app.server instanceof TlsServer) app.server.setSecureContext(next as SecureContextOptions);
    },
    close: async (graceMs) => {
      const deadline = clock.after(graceMs, () => {
        running.endAll();
        sessions.endAll();
      });
      const closed = app.close();
      running.drain();
      sessions.drain();
      await closed;
      deadline.cancel();
    },
  };
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

function alwaysHook({ clock, logger }: WorkerParts, running: InFlight): Hook {
  return (request, reply, done) => {
    const { raw, id: request_id } = request;
    const begin = clock.monotonic();
    const ended = running.started(reply.raw);
    reply.raw.once('close', () => {
      ended(raw.socket);
      const ms = Math.round(clock.monotonic() - begin);
      logger.debug({ request_id, method: raw.method, status: reply.raw.statusCode, ms }, 'request');
    });
    reply.header('X-Request-ID', request.id);
    const doubt = connectionFailure(raw);
    if (!doubt) return done();
    reply.hijack();
    reply.raw.statusCode = doubt.status;
    answerAndClose(raw.socket, doubt, request.id);
  };
}

/** Headers that come twice, a caller who is not our control plane, a body that is none of ours. */
function callerFault(parts: WorkerParts, { raw }: FastifyRequest): Error | undefined {
  const { headers } = raw;
  try {
    requireControlPlane(parts, raw);
    checkBody({ body: {} as never }, headers, BODY_LIMIT);
    if (headers['content-type'] === undefined)
      throw new ServiceError('bad_request', `Send the call as ${JSON_TYPE}.`);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Throws for headers that come twice, and for any other caller. */
function requireControlPlane({ credential }: WorkerParts, raw: IncomingMessage): void {
  refuseRepeated(raw);
  credential.requireCaller({
    worker_id: raw.headers['x-worker-id'] as string | undefined,
    token: raw.headers['x-worker-token'] as string | undefined,
  });
}

function tooSlow(request: FastifyRequest, reply: FastifyReply): void {
  const failure = new ServiceError('timeout', 'The body came too slowly.');
  reply.raw.statusCode = failure.status;
  answerAndClose(request.raw.socket, failure, request.id);
}

function unrouted(url = ''): ServiceError {
  if (['/rpc', IMPORT_PATH].includes(url.split(/[?#]/, 1)[0] ?? ''))
    return new ServiceError('method_not_allowed', 'Only POST is supported.', {
      details: { allow: ['POST'] },
    });
  return new ServiceError('not_found', 'No resource exists at this path.', { remedy: 'Calls go to /rpc.' });
}

async function listen(app: FastifyInstance, { host, port }: RpcServerDeps['address']): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    throw new ServiceError('unavailable', `The worker cannot listen on ${host}, port ${port}.`, {
      cause,
      remedy: 'Stop what uses it, or give another --listen.',
    });
  }
  return (app.server.address() as AddressInfo).port;
}
