// `/mcp` and `/mcp/operate` (docs/mcp.md): the pipeline of the API decides who may come in, then src/mcp answers.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { accountOf } from '../../domain/byte-ledger.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import type { Clock } from '../../domain/ports.ts';
import { keysOf } from '../authenticate.ts';
import { readJson } from '../body/body.ts';
import { watchPace } from '../body/slow-body.ts';
import { heldFor } from '../call.ts';
import { readBytes } from '../e2b/read-body.ts';
import type { Cors } from '../headers/cors.ts';
import type { HttpConfig } from '../http-config.ts';
import type { RouteId } from '../paths.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Route } from '../route.ts';
import { dropIfStalled, taken } from '../write-pieces.ts';
import type { McpExchange, ServeMcp } from './exchange.ts';
import { pipeTo } from './pipe.ts';

export interface McpDeps {
  control: ControlPlane;
  config: LiveConfig<HttpConfig>;
  clock: Clock;
  pipeline: Pipeline;
  serve: ServeMcp;
}

/** What an exchange keeps in memory beside its body, at most: answers of our API, and the text that it makes of them. */
const EXCHANGE_BYTES = 2 * 1024 * 1024;

const PATHS = { use: '/mcp', operate: '/mcp/operate' } as const;

export function registerMcp(app: FastifyInstance, deps: McpDeps): void {
  app.register(async (plane) => {
    plane.removeAllContentTypeParsers();
    plane.addContentTypeParser('*', (_request, _payload, done) => done(null));
    plane.addHook('onSend', async (_request, reply) => {
      if (reply.statusCode === 401) reply.header('WWW-Authenticate', 'Bearer');
    });
    for (const profile of ['use', 'operate'] as const) serveProfile(plane, profile, deps);
  });
}

function serveProfile(plane: FastifyInstance, profile: McpExchange['profile'], deps: McpDeps): void {
  for (const method of ['POST', 'GET', 'DELETE'] as const)
    plane.route({
      method,
      url: PATHS[profile],
      exposeHeadRoute: false,
      onRequest: [
        (request, _reply, done) => done(entryFailure(request, deps.pipeline.origins())),
        deps.pipeline.of(asRoute(profile, method)),
      ],
      handler: (request, reply) => {
        // A client that asks for a stream, or ends a session, learns from this that there is none.
        if (method !== 'POST') throw noSession();
        return answer(profile, request, reply, deps);
      },
    });
}

function noSession(): ServiceError {
  return new ServiceError('method_not_allowed', 'This server keeps no sessions of MCP.', {
    remedy: 'Send messages with POST.',
    details: { allow: ['POST'] },
  });
}

/** What the pipeline asks of a route. Calls of the API are audited by themselves. */
function asRoute(profile: McpExchange['profile'], method: 'POST' | 'GET' | 'DELETE'): Route {
  const isOperator = profile === 'operate';
  return {
    id: `mcp ${profile}` as RouteId,
    method,
    path: PATHS[profile],
    scope: isOperator ? 'admin' : 'read',
    auth: isOperator ? 'admin' : 'api',
    owned: !isOperator,
    audited: isOperator ? 'frequent' : 'never',
    tag: 'system',
    summary: 'MCP',
    body: Type.Unknown(),
    bodyOptional: true,
    success: { status: 200, description: '' },
    errors: [],
    handler: () => undefined,
  };
}

/** Browsers send `Origin`, and hosts of MCP send keys as `Authorization: Bearer`, which stands for X-API-Key. */
function entryFailure({ raw: { headers } }: FastifyRequest, origins: Cors): Error | undefined {
  try {
    origins.checkUpgrade(headers);
    const bearer = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
    const given = headers['x-api-key'];
    if (bearer !== undefined && given !== undefined && given !== bearer)
      throw new ServiceError('bad_request', 'Authorization and X-API-Key hold different keys.', {
        remedy: 'Send one of them.',
      });
    if (bearer !== undefined) headers['x-api-key'] = bearer;
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

async function answer(
  profile: McpExchange['profile'],
  request: FastifyRequest,
  reply: FastifyReply,
  { control, config, clock, serve }: McpDeps,
): Promise<FastifyReply> {
  const { raw, authorized } = request;
  if (!authorized) throw new Error('the handler ran without the pipeline');
  const hold = heldFor(reply.raw, control.ledger.open(accountOf(authorized.caller)));
  hold.grow(EXCHANGE_BYTES);
  watchPace(raw, clock, () => raw.socket.destroy());
  const body = messageOf(await readBytes(raw, config.current().server.body_limit, hold));
  const ended = new AbortController();
  const end = () => ended.abort(new ServiceError('unavailable', 'The client closed the connection.'));
  if (reply.raw.destroyed || reply.raw.closed) end();
  reply.raw.once('close', end);
  const response = await serve({
    profile,
    request: webRequest(request),
    body,
    requestId: request.id,
    keys: keysOf(raw.headers),
    forwarded: forwardedBy(raw.headers),
    connect: () => pipeTo(reply.server.server, raw.socket.remoteAddress),
    ended: ended.signal,
  });
  return sendResponse(reply, response, clock);
}

/** One message: a list of them would be many calls under the limits of one. */
function messageOf(bytes: Buffer): unknown {
  const value = readJson(bytes, JSON.parse);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new ServiceError('bad_request', 'The body is not one JSON-RPC message.', {
    remedy: 'Send each message by itself.',
  });
}

/** The SDK looks at the headers alone: the body is parsed, and the address is ours. */
function webRequest({ raw }: FastifyRequest): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw.headers))
    if (value !== undefined && !/^(?:x-(?:admin-)?api-key|authorization|cookie)$/.test(name))
      headers.set(name, String(value));
  return new Request('http://svc.localhost/mcp', { method: 'POST', headers });
}

const FORWARDED = ['x-user-id', 'x-forwarded-for', 'x-forwarded-proto', 'user-agent'] as const;

function forwardedBy(headers: FastifyRequest['raw']['headers']): Record<string, string> {
  const found = FORWARDED.flatMap((name) =>
    headers[name] === undefined ? [] : [[name, String(headers[name])]],
  );
  return Object.fromEntries(found) as Record<string, string>;
}

async function sendResponse(reply: FastifyReply, response: Response, clock: Clock): Promise<FastifyReply> {
  const { status, headers, body } = response;
  reply.hijack();
  reply.raw.writeHead(status, {
    ...(reply.getHeaders() as Record<string, string>),
    ...Object.fromEntries(headers),
  });
  try {
    for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
      if (reply.raw.destroyed) return reply;
      if (!reply.raw.write(piece)) await taken(reply.raw, clock);
    }
    reply.raw.end();
    dropIfStalled(reply.raw, clock);
  } catch {
    // The answer cannot be completed.
    reply.raw.destroy();
  }
  return reply;
}
