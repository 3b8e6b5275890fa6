// The preview gateway: what comes under a preview's name goes to the sandbox and never to the API, and the other way round.
// The name alone decides, before anything else of the request is looked at.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../control/api/caller.ts';
import type { Previews } from '../../control/api/previews.ts';
import { addressRanges } from '../../domain/address.ts';
import { ServiceError } from '../../domain/errors.ts';
import { valuesOf } from '../../domain/header-lists.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { type PreviewTarget, readPreviewName } from '../../domain/preview.ts';
import type { Config } from '../../schema/config.ts';
import { lingerOver } from '../body/slow-body.ts';
import { disconnectSignal } from '../client-disconnect.ts';
import { logFailure, toServiceError } from '../errors.ts';
import { forwardedFor } from '../headers/forwarded.ts';
import type { InFlight } from '../in-flight.ts';
import { type Connection, checkHandshake } from '../socket/upgrades.ts';
import { authorizePreview } from './authorize.ts';
import { PreviewLimits } from './connection-limits.ts';
import { answerFailure } from './pages.ts';
import { proxyRequest } from './proxy-request.ts';

export interface GatewayDeps {
  previews: Previews;
  server: Config['server'];
  clock: Clock;
  logger: Logger;
  inFlight: InFlight;
  /** Ports below the domain that are not the guest's. */
  reserved: readonly number[];
  /** Whether a token admits the request to all ports of the sandbox. */
  admits(raw: IncomingMessage, sandbox_id: string): boolean;
  /** Set for a request that asks for a WebSocket. */
  connectionOf(raw: IncomingMessage): Connection | undefined;
  /** Answers instead of the gateway's own page or JSON; false for all that is not its own. */
  answerFailure(raw: IncomingMessage, response: ServerResponse, why: FailedVisit): boolean;
  /** Ends the response when the key of the request ends. */
  endWithKey(request: FastifyRequest, response: ServerResponse): void;
}

export interface FailedVisit {
  target: Target;
  failure: ServiceError;
}

export interface PreviewGateway {
  /** The preview that a request is for; undefined: it is for the API. */
  targetOf(raw: IncomingMessage): Target | undefined;
  /** Answers a request for a preview. `url` is its address as it came. Never rejects. */
  serve(target: Target, url: string, request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** The same for a request that names the port in a header. `caller` proved its key. */
  serveCaller(
    target: PreviewTarget,
    caller: Caller,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void>;
  /** Cuts all WebSockets. */
  closeAll(): void;
}

export type Target = PreviewTarget | 'strange';

export function previewGateway(deps: GatewayDeps): PreviewGateway {
  const { server, clock, logger } = deps;
  const all = {
    ...deps,
    domain: server.preview_domain,
    isProxy: addressRanges(server.trusted_proxies),
    places: new PreviewLimits(),
    joined: new Set<Duplex>(),
  };
  return {
    targetOf: ({ headers }) => {
      const target = readPreviewName(headers.host, server.preview_domain);
      return typeof target === 'object' && deps.reserved.includes(target.port) ? undefined : target;
    },
    async serve(target, url, request, reply) {
      const { raw, id: request_id } = request;
      try {
        checkRequest(raw, url);
        if (target === 'strange') throw unknownName(server.preview_domain);
        await serve(all, { target, url, request, reply });
      } catch (error) {
        const failure = toServiceError(error);
        noteFailure(logger, failure, request_id);
        if (!reply.raw.headersSent && !deps.answerFailure(raw, reply.raw, { target, failure }))
          answerFailure(raw, reply.raw, { failure, request_id });
      }
      // What is left of a body that nobody wanted.
      if (reply.raw.statusCode !== 101) lingerOver(raw, clock);
    },
    async serveCaller(target, caller, request, reply) {
      const { raw, id: request_id, originalUrl: url } = request;
      try {
        checkRequest(raw, url);
        await serve(all, { target, url, request, reply, caller });
      } catch (error) {
        const failure = toServiceError(error);
        noteFailure(logger, failure, request_id);
        if (!reply.raw.headersSent) answerFailure(raw, reply.raw, { failure, request_id, isForCaller: true });
      }
      if (reply.raw.statusCode !== 101) lingerOver(raw, clock);
    },
    closeAll() {
      for (const socket of all.joined) socket.destroy();
    },
  };
}

type All = GatewayDeps & {
  domain: string;
  isProxy: (address: string) => boolean;
  places: PreviewLimits;
  joined: Set<Duplex>;
};

interface Call {
  target: PreviewTarget;
  url: string;
  request: FastifyRequest;
  reply: FastifyReply;
  /** Set for a request by header, which needs no link. */
  caller?: Caller;
}

async function serve(deps: All, { target, url, request, reply, caller }: Call): Promise<void> {
  const { raw, id: request_id, scheme } = request;
  const response = reply.raw;
  const connection = deps.connectionOf(raw);
  if (connection) checkHandshake(raw);
  const visit = { target, raw, url, isUpgrade: connection !== undefined, scheme };
  const isAdmitted = caller !== undefined || deps.admits(raw, target.sandbox_id);
  const pass = isAdmitted ? { url } : authorizePreview(deps, visit);
  if (caller) deps.endWithKey(request, response);
  if ('location' in pass) {
    const { location, cookie } = pass;
    const headers = { Location: location, 'Set-Cookie': cookie, ...UNSEEN, 'X-Request-ID': request_id };
    return void response.writeHead(302, headers).end();
  }
  const leave = deps.places.take(target.sandbox_id, () => raw.socket.destroy());
  try {
    const route = { request_id, scheme, forwarded_for: forwardedFor(raw, deps.isProxy) };
    const visitor = { caller, isAdmitted };
    const { tunnel, host } = await deps.previews.visit(target, disconnectSignal(response), visitor);
    const asked = { target, raw, response, url: pass.url, route: { ...route, host }, connection };
    await proxyRequest(tunnel, asked, deps);
  } finally {
    leave();
  }
}

/** The behaviour of a guest is not a fault of the server, and anybody can cause it a thousand times. */
function noteFailure(logger: Logger, failure: ServiceError, request_id: string): void {
  const { code, status, cause, message } = failure;
  if (status === 502 || status === 504) logger.debug({ request_id, code, status, cause }, message);
  else logFailure(logger, failure, request_id);
}

/** The address with the token is nobody's but the visitor's. */
const UNSEEN = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'Content-Length': 0 };

/** Throws `bad_request` for what two servers could read as two things. */
function checkRequest({ method, rawHeaders }: IncomingMessage, url: string): void {
  if (valuesOf(rawHeaders, 'host').length > 1)
    throw new ServiceError('bad_request', 'The request has more than one Host header.');
  if (!url.startsWith('/') && !(url === '*' && method === 'OPTIONS'))
    throw new ServiceError('bad_request', 'The request does not name a path.');
  // It would answer with the visitor's cookies, which pages must not read.
  if (method === 'TRACE') throw new ServiceError('method_not_allowed', 'Previews do not support TRACE.');
}

function unknownName(domain: string): ServiceError {
  return new ServiceError('not_found', 'No preview has this name.', {
    remedy: `Use a name of the form <port>-<sandbox-id>.${domain}.`,
  });
}
