// What every request passes before its handler, in this order: request id and access log, headers that mean two
// things, Host, cross-origin rules, failed tries, the caller, the rate limit, the kind of body. The order is part of the
// contract: a preflight needs no key, and a refused caller's body is never read.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { NamedKeys } from '../control/api/keys.ts';
import type { AnsweredRequest, AuditLog, RateLimits } from '../control/api/system.ts';
import type { EventLoopYield } from '../control/async/event-loop-yield.ts';
import { accessRules, type Identity, identify } from '../domain/access.ts';
import { addressRanges, originOf } from '../domain/address.ts';
import { accountOf } from '../domain/byte-ledger.ts';
import { ServiceError } from '../domain/errors.ts';
import type { LiveConfig } from '../domain/live-config.ts';
import { servesThisMachine } from '../domain/loopback.ts';
import type { Clock, Logger } from '../domain/ports.ts';
import { answeredRequest, logAccess } from './access-log.ts';
import { type Auditor, auditor } from './audit.ts';
import { authenticator, endOfKeys, keysOf, withFreshKeys } from './authenticate.ts';
import { checkBody, hasBody, isEmptyFile, mediaType } from './body/body.ts';
import { limitsOf } from './body/limits.ts';
import { type Access, type AuthorizedCaller, authorize } from './caller.ts';
import { connectionFailure } from './connect-and-expect.ts';
import { type Cors, cors, isPreflight } from './headers/cors.ts';
import { type Scheme, schemeOf } from './headers/forwarded.ts';
import { hostCheck } from './headers/host-header.ts';
import { refuseRepeated } from './headers/single-headers.ts';
import type { HttpConfig } from './http-config.ts';
import type { InFlight } from './in-flight.ts';
import type { PreviewGateway, Target } from './previews/gateway.ts';
import { namesPort, servePort } from './previews/port-header.ts';
import { type RateLimiter, rateLimiter } from './rate-limit.ts';
import { answerAndClose } from './raw-answer.ts';
import type { Route } from './route.ts';
import { workerAuthenticator } from './worker-caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the route's part of the pipeline, before any handler. */
    authorized: AuthorizedCaller | undefined;
    /** The route's own, once it is known. */
    route: Route | undefined;
    /** Who calls, once it is known, also when they are refused. */
    identity: Identity | undefined;
    /** The client's address, as far as it can be trusted; empty for a closed connection. */
    address: string;
    /** The scheme that the client uses towards us, or towards a trusted proxy. */
    scheme: Scheme;
    /** What it is for when it is not for the API. */
    preview: Target | undefined;
    /** The id or name of what the call has created, or is about, for the audit. */
    created: string | undefined;
  }
}

export interface PipelineDeps {
  config: LiveConfig<HttpConfig>;
  clock: Clock;
  logger: Logger;
  inFlight: InFlight;
  /** Counts requests that are answered. */
  counted(answered: AnsweredRequest): void;
  /** Whether the server is stopping. */
  closing(): boolean;
  rates: RateLimits;
  named: NamedKeys;
  audit: AuditLog;
  eventLoop: EventLoopYield;
  /** What comes under the name of a preview is the gateway's. */
  previews: PreviewGateway;
  /** Answers a request whose headers name a port of a sandbox; false for all others. */
  servePortOf?(request: FastifyRequest, reply: FastifyReply): boolean;
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

export interface Pipeline {
  /** For every request, also of unknown routes. */
  always: Hook;
  /** For requests of `route`. */
  of(route: Route): Hook;
  /** Calls `done` when it is the turn of `line`, which stands for a caller; also gives `request.pass` its meaning. */
  turn(request: FastifyRequest, line: string, done: () => void): void;
  /** Counts wrong credentials of the data plane by address; both as in `RateLimiter`. */
  guesses: Pick<RateLimiter, 'blocked' | 'failed'>;
  /** Cross-origin rules as they are configured now. */
  origins(): Cors;
  /** Why the key of a request that was let in does not count any more; undefined while it does. */
  endOf(request: FastifyRequest): string | undefined;
}

/** Rebuilt when the configuration changes: a caller that proved a key before has to prove one again. */
interface Judges {
  access: Access;
  audited: Auditor;
  origins: Cors;
}

export function pipeline(deps: PipelineDeps): Pipeline {
  let judges = judgesOf(deps);
  deps.config.onChange(() => {
    judges = judgesOf(deps);
  });
  const current = () => judges;
  return {
    always: alwaysHook(deps, current, hostCheck(deps.config.current())),
    of: (route) => routeHook(route, { ...deps, current }),
    turn: (request, line, done) => enter(deps.eventLoop, request, line, done),
    guesses: {
      blocked: (...parts) => current().access.limiter.blocked(...parts),
      failed: (...parts) => current().access.limiter.failed(...parts),
    },
    origins: () => current().origins,
    endOf: ({ raw, identity }) => identity && endOf(raw.headers, identity, current().access),
  };
}

function judgesOf(deps: PipelineDeps): Judges {
  const { auth, server, audit, images } = deps.config.current();
  const rules = accessRules(auth, images);
  const limiter = rateLimiter(deps.rates, deps.clock);
  return {
    access: {
      rules,
      limiter,
      named: deps.named,
      authenticate: authenticator(rules, limiter, deps.named),
      authenticateWorker: workerAuthenticator({
        auth,
        onlyThisMachine: servesThisMachine({ auth, server }),
        limiter,
        clock: deps.clock,
      }),
    },
    audited: auditor({
      log: deps.audit,
      rules,
      find: (digest) => deps.named.find(digest),
      clock: deps.clock,
      execs: audit.execs,
    }),
    origins: cors(server.cors_allowed_origins),
  };
}

/** A key that the configuration does not have any more was removed. */
function endOf(
  headers: IncomingHttpHeaders,
  { credential }: Identity,
  { rules, named }: Access,
): string | undefined {
  const keys = keysOf(headers);
  if (identify(rules, keys, (digest) => named.find(digest))?.credential === credential) return undefined;
  return endOfKeys(keys, named) ?? 'removed';
}

function alwaysHook(
  deps: PipelineDeps,
  current: () => Judges,
  checkHost: ReturnType<typeof hostCheck>,
): Hook {
  const { auth, server } = deps.config.current();
  const isProxy = addressRanges(server.trusted_proxies);
  const followed = { ...deps, current };
  return (request, reply, done) => {
    const { raw } = request;
    // Pipelined behind a request that ended the connection: whatever it is, it is not served.
    if (!raw.socket.writable) return void reply.hijack();
    reply.header('X-Request-ID', request.id);
    // Before the socket is closed: it forgets its address.
    request.address = originOf(
      raw.socket.remoteAddress ?? '',
      raw.headers['x-forwarded-for'] as string,
      isProxy,
    );
    request.scheme = schemeOf(raw, isProxy);
    request.preview = deps.previews.targetOf(raw);
    const { origins } = current();
    follow(request, reply.raw, followed);
    const doubt = connectionFailure(raw);
    if (doubt) return refuseConnection(request, reply, doubt);
    try {
      if (deps.closing()) throw stopping(reply);
      if (request.preview !== undefined) return divert(request, reply, deps.previews);
      refuseRepeated(raw);
      checkHost(raw.headers.host, raw.httpVersion);
      if (isPreflight(raw.method, raw.headers))
        return void reply.code(204).headers(origins.preflightHeaders(raw.headers)).send();
      if (raw.headers.upgrade !== undefined) origins.checkUpgrade(raw.headers);
      if (!auth.enabled) origins.checkChange(raw.method, raw.headers);
      if (namesPort(raw))
        return servePort(request, reply, { ...deps, origins, access: current().access }, done);
      if (deps.servePortOf?.(request, reply)) return;
      const headers = origins.answerHeaders(raw.headers);
      if (headers) reply.headers(headers);
      done();
    } catch (error) {
      done(error as Error);
    }
  };
}

/** Authorized calls continue by turns between owners; so do refusals. */
function routeHook(route: Route, { current, config, eventLoop }: FollowDeps): Hook {
  const limit = limitsOf(route, config.current());
  return (request, reply, done) => {
    withFreshKeys(request.raw.headers, current().access, () => {
      const failure = refusalOf(route, request, reply, { access: current().access, limit });
      const { authorized, address } = request;
      const line = authorized ? accountOf(authorized.caller).name : `address ${address}`;
      enter(eventLoop, request, line, () => done(failure));
    });
  };
}

function enter(eventLoop: EventLoopYield, request: FastifyRequest, line: string, done: () => void): void {
  request.pass = () => eventLoop.pass(line);
  eventLoop.enter(line, done);
}

interface Rules {
  access: Access;
  /** Bytes of a body of a type at most. */
  limit: (type: string) => number;
}

/** Undefined for a request that is authorized. */
function refusalOf(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  { access, limit }: Rules,
): Error | undefined {
  const { headers, socket: connection } = request.raw;
  const { id: requestId, address } = request;
  const { worker_id } = request.params as { worker_id?: unknown };
  request.route = route;
  const identified = (identity: Identity) => {
    request.identity = identity;
  };
  try {
    request.authorized = authorize(
      route,
      { headers, connection, address, reply, requestId, worker_id, identified },
      access,
    );
    if (hasBody(headers)) checkBody(route, headers, limit(mediaType(headers)));
    // Without a body its type means nothing, and the framework would look for a parser; but no bytes are a file too.
    else if (headers['content-type'] !== undefined && !isEmptyFile(route, headers))
      delete headers['content-type'];
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function divert(request: FastifyRequest, reply: FastifyReply, previews: PreviewGateway): void {
  reply.hijack();
  if (request.preview !== undefined)
    void previews.serve(request.preview, request.originalUrl, request, reply);
}

function refuseConnection(request: FastifyRequest, reply: FastifyReply, failure: ServiceError): void {
  reply.hijack();
  reply.raw.statusCode = failure.status;
  answerAndClose(request.raw.socket, failure, request.id);
}

interface FollowDeps extends PipelineDeps {
  current(): Judges;
}

/** From here to the end of the answer, or of the connection. */
function follow(
  request: FastifyRequest,
  response: ServerResponse,
  { clock, logger, inFlight, counted, current }: FollowDeps,
): void {
  const begin = clock.monotonic();
  const { socket } = request.raw;
  const ended = inFlight.started(response);
  response.once('close', () => {
    ended(socket);
    const ms = clock.monotonic() - begin;
    logAccess(logger, request, response, ms);
    counted(answeredRequest(request, response, ms));
    current().audited(request, response, ms);
  });
}

function stopping(reply: FastifyReply): ServiceError {
  reply.raw.setHeader('Connection', 'close');
  return new ServiceError('unavailable', 'The server is stopping.', {
    retryAfterMs: 5_000,
    details: { nothing_done: true },
  });
}
