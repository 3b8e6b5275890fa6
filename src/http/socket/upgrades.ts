// WebSocket upgrades. They pass the same pipeline as every request, so a refusal is an answer in our one shape; only what
// its route accepts becomes a socket. Requests that offer another protocol (h2c) are served as the plain requests that
// they also are: Node takes them off its parser, so they are put back without the offer.
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { SharedSlots } from '../../domain/shared-slots.ts';
import type { SocketAnswer } from '../answer.ts';
import { headerCountFailure } from '../headers/header-count.ts';
import { takeProtocolKeys, VERSION_PROTOCOL } from './socket-protocol.ts';

const MAX_SOCKETS = 1024;
/** How long a peer may take to answer our close. */
const CLOSE_MS = 2000;
const GOING_AWAY = 1001;
const REFUSED = 1008;
const TRY_AGAIN_LATER = 1013;
/** How long a client that is refused may take to read that. */
const READ_MS = 500;

export interface Upgrades {
  /** The bare connection of a request that asks for a WebSocket; undefined for every other. */
  of(request: IncomingMessage): Connection | undefined;
  /** Makes the reply's connection a WebSocket. Throws status 426 when the request did not ask for one. */
  accept(reply: FastifyReply, answer: SocketAnswer): FastifyReply;
  /** Ends the WebSocket that was accepted on this response, with an error message and 1008. */
  refuse(response: ServerResponse, message: string): void;
  /** Closes all with 1001; those that do not answer are cut. */
  closeAll(): void;
}

export interface UpgradeDeps {
  clock: Clock;
  logger: Logger;
  maxMessageBytes: number;
  /** At once; 1,024 unless given. */
  maxSockets?: number | undefined;
  /** The connection is no longer one of requests and answers. */
  detached(socket: Duplex): void;
}

/** `head`: what came behind the request. */
export interface Connection {
  socket: Duplex;
  head: Buffer;
}

/**
 * Calls `serve` for requests whose offer `isOurs`, after the response that is in progress on the connection; other offers are
 * served as plain requests. A request with more headers than Node kept also comes to `serve`, which must refuse it.
 */
export function onUpgrade(
  server: Server,
  isOurs: (request: IncomingMessage) => boolean,
  serve: (request: IncomingMessage, connection: Connection) => void,
): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const begin = () => {
      const { _httpMessage: before } = socket as { _httpMessage?: ServerResponse | null };
      if (before) return void before.once('close', begin);
      if (!socket.writable) return;
      // Putting it back would write down only the headers that Node kept.
      const isComplete = headerCountFailure(request) === undefined;
      if (isComplete && !isOurs(request)) serveAsPlain(server, request, { socket, head });
      else serve(request, { socket, head });
    };
    socket.on('error', destroyer(socket));
    begin();
  });
}

/** Made apart from the request, which a listener beside it would keep in memory as long as the connection. */
const destroyer = (socket: Duplex) => () => void socket.destroy();

export function acceptUpgrades(app: FastifyInstance, deps: UpgradeDeps): Upgrades {
  const waiting = new WeakMap<IncomingMessage, Connection>();
  const open = new Set<WebSocket>();
  const accepted = new WeakMap<ServerResponse, WebSocket>();
  const places = new SharedSlots(deps.maxSockets ?? MAX_SOCKETS);
  const sockets = socketServer(deps.maxMessageBytes);
  onUpgrade(app.server, isWebSocket, (request, connection) => {
    takeProtocolKeys(request);
    waiting.set(request, connection);
    app.routing(request, responseOn(request, connection.socket));
  });
  return {
    of: (request) => waiting.get(request),
    accept(reply, answer) {
      const found = waiting.get(reply.request.raw);
      if (!found) throw notRequested(reply);
      checkHandshake(reply.request.raw);
      const seat = takeSeat(places, { reply, socket: found.socket }, deps.clock);
      deps.detached(found.socket);
      handOver(sockets, reply, found, (ws) => {
        seat.socket = ws;
        open.add(ws);
        accepted.set(reply.raw, ws);
        ws.once('close', () => open.delete(ws));
        answer.serve(ws, { ...deps, request_id: reply.request.id });
      });
      return reply;
    },
    refuse: (response, message) => refuse(accepted.get(response), message, deps.clock),
    closeAll: () => closeSockets(open, deps.clock),
  };
}

function refuse(ws: WebSocket | undefined, message: string, clock: Clock): void {
  if (!ws || ws.readyState !== ws.OPEN) return;
  ws.send(JSON.stringify({ type: 'error', code: 'unauthorized', message }));
  ws.close(REFUSED, message);
  clock.after(READ_MS, () => ws.terminate());
}

function closeSockets(open: Iterable<WebSocket>, clock: Clock): void {
  for (const ws of open) {
    ws.close(GOING_AWAY, 'The server is stopping.');
    clock.after(CLOSE_MS, () => ws.terminate());
  }
}

/** A connection that is counted before its WebSocket is open. */
interface Seat {
  socket: WebSocket | undefined;
}

/**
 * Released with the connection. Throws `resource_limit` when none is free. The displaced connection is
 * closed with 1013, and cut when it does not close.
 */
function takeSeat(
  places: SharedSlots,
  { reply, socket }: { reply: FastifyReply; socket: Duplex },
  clock: Clock,
): Seat {
  const seat: Seat = { socket: undefined };
  const leave = places.take(reply.request.authorized?.caller.owner, () => {
    seat.socket?.close(TRY_AGAIN_LATER, 'The connection is closed because another owner needs its share.');
    clock.after(CLOSE_MS, () => seat.socket?.terminate());
  });
  if (!leave)
    throw new ServiceError('resource_limit', 'Too many WebSockets are open.', {
      retryAfterMs: 5000,
      details: { nothing_done: true },
    });
  socket.once('close', leave);
  return seat;
}

function socketServer(maxPayload: number): WebSocketServer {
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload,
    handleProtocols: (offered) => (offered.has(VERSION_PROTOCOL) ? VERSION_PROTOCOL : false),
  });
}

/** From an answer of Fastify's to a socket of ws. */
function handOver(
  sockets: WebSocketServer,
  reply: FastifyReply,
  { socket, head }: Connection,
  serve: (ws: WebSocket) => void,
): void {
  reply.hijack();
  reply.raw.detachSocket(socket as never);
  sockets.once('headers', (headers: string[]) => headers.push(`X-Request-ID: ${reply.request.id}`));
  sockets.handleUpgrade(reply.request.raw, socket, head, (ws) => {
    reply.raw.statusCode = 101;
    // The response ends only now, for the access log and the count of requests in flight.
    ws.once('close', () => reply.raw.emit('close'));
    serve(ws);
  });
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

/** What Fastify answers on. The parser has let go of the connection, so it ends with the answer. */
function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as never);
  response.once('finish', () => {
    response.detachSocket(socket as never);
    socket.end();
    // As Node does for the answers it owns: the access log, the audit and what counts calls in flight wait for it.
    process.nextTick(() => response.emit('close'));
  });
  return response;
}

/** RFC 9110 7.8: who does not know the protocol ignores the offer. */
function serveAsPlain(server: Server, request: IncomingMessage, { socket, head }: Connection): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!/^(connection|upgrade|http2-settings)$/i.test(rawHeaders[i] ?? ''))
      lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  }
  const again = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  socket.removeAllListeners('error');
  socket.unshift(Buffer.concat([again, head]));
  server.emit('connection', socket);
}

function notRequested(reply: FastifyReply): ServiceError {
  reply.header('Upgrade', 'websocket').header('Connection', 'Upgrade');
  return new ServiceError('bad_request', 'This endpoint requires a WebSocket.', {
    status: 426,
    remedy: 'Connect with a WebSocket client.',
  });
}

/** Checks the opening handshake (RFC 6455 4.2.1). Throws `bad_request` for an invalid one. */
export function checkHandshake({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const { 'sec-websocket-key': key, 'sec-websocket-version': version } = headers;
  if (typeof key === 'string' && /^[+/0-9A-Za-z]{22}==$/.test(key) && version === '13') return;
  throw new ServiceError('bad_request', 'The WebSocket handshake is not valid.', {
    remedy: 'Use version 13 of the WebSocket protocol (RFC 6455).',
  });
}
