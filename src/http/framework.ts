// Fastify as this service uses it: its own log off, its parsers replaced, every failure in our one shape.
import type { IncomingMessage } from 'node:http';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
} from 'fastify';
import type { Hold } from '../domain/byte-ledger.ts';
import type { Clock, Ids, Logger } from '../domain/ports.ts';
import { FAILED_HEADER, PORT_HEADER } from '../domain/preview.ts';
import { BYTES_TYPE, JSON_TYPE, TAR_TYPE } from './body/body.ts';
import { type BodyTerms, type FileBody, fileBody, jsonBody } from './body/json-body.ts';
import { lingerOver } from './body/slow-body.ts';
import { answerConnectAndExpect } from './connect-and-expect.ts';
import { endOfTurn } from './end-of-turn.ts';
import { errorAnswer, logFailure, toServiceError } from './errors.ts';
import { requestIdFrom } from './headers/request-id.ts';
import { splitQuery } from './query.ts';
import { answerAndClose, parserFailure } from './raw-answer.ts';
import { sendObject } from './send.ts';
import { isWhole, ServedRequest } from './served-request.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Resolves when this caller may continue long work; without a caller, with the next turn. */
    pass: (() => Promise<void>) | undefined;
    /** Opens the account that a JSON body is kept on, where somebody is asked. */
    bodyHold: (() => Hold) | undefined;
    /** What is wrong with the beginning of a body that carries a file; only for those. */
    bodyFault: ((body: unknown) => Error | undefined) | undefined;
    /** The file that came inside of a JSON body: what its text says, in UTF-8. */
    content: Buffer[] | undefined;
  }
}

export interface FrameworkDeps {
  clock: Clock;
  ids: Ids;
  logger: Logger;
  headersTimeoutMs?: number;
  /** Plain HTTP when absent. */
  tls?: ServerTls;
  /** What every request passes first, also one whose path cannot be read. */
  always: onRequestHookHandler;
  /** The address of a request as the router gets it; it sees no other. */
  addressOf?: (request: IncomingMessage) => string;
}

/** PEM texts. With `ca`, who calls must have a certificate that is signed by it. */
export interface ServerTls {
  cert: string;
  key: string;
  ca?: string | undefined;
}

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 15_000;

/** Has no routes. */
export function createFastify(deps: FrameworkDeps): FastifyInstance {
  const { ids, logger, addressOf, tls } = deps;
  const app: FastifyInstance = Fastify({
    logger: false,
    genReqId: requestIdFrom(ids),
    // Bodies are held to a pace instead (slow-body.ts): an honest upload may take long.
    requestTimeout: 0,
    return503OnClosing: false,
    exposeHeadRoutes: false,
    // Ids and file paths are bounded by their schemas, which say so better.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES, querystringParser: splitQuery as never },
    // Each route brings its own validators, so the framework's are not even loaded.
    schemaController: { compilersFactory: { buildValidator: noValidator } },
    ...(tls ? { https: { ...httpOptions(deps), ...tlsOptions(tls) } } : { http: httpOptions(deps) }),
    ...(addressOf && { rewriteUrl: addressOf as never }),
    clientErrorHandler: (error, socket) => {
      const id = ids.uuid();
      logger.debug({ request_id: id, code: error.code }, 'Invalid HTTP request; closing the connection.');
      answerAndClose(socket, parserFailure(error, socket), id);
    },
    frameworkErrors: (error, given, answer) => {
      const [request, reply] = [given as FastifyRequest, answer as FastifyReply];
      const done = (refused?: Error) => void answerFailure(refused ?? error, request, reply, deps);
      deps.always.call(app, request, reply, done);
    },
  }) as unknown as FastifyInstance;
  app.addHook('onRequest', deps.always);
  app.setErrorHandler((error, request, reply) => {
    const answer = () => answerFailure(error, request, reply, deps);
    // What is incomplete now may prove invalid within this turn, and that answer would come first.
    return isWhole(request.raw) ? endOfTurn().then(answer) : answer();
  });
  answerConnectAndExpect(app.server, ids);
  takeBodies(app);
  return app;
}

function noValidator(): never {
  throw new Error('a route with a schema has no validator');
}

function httpOptions({ headersTimeoutMs = HEADERS_TIMEOUT_MS }: FrameworkDeps) {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: Math.min(5_000, headersTimeoutMs),
    insecureHTTPParser: false,
    // Its absence gets an answer in our shape.
    requireHostHeader: false,
    IncomingMessage: ServedRequest,
  };
}

function tlsOptions({ cert, key, ca }: ServerTls) {
  const mutual = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true };
  return { cert, key, minVersion: 'TLSv1.2' as const, handshakeTimeout: HEADERS_TIMEOUT_MS, ...mutual };
}

function answerFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { clock, logger }: FrameworkDeps,
): FastifyReply {
  const failure = toServiceError(error);
  logFailure(logger, failure, request.id);
  lingerOver(request.raw, clock);
  stayOpen(request.raw, reply);
  const { status, headers, body } = errorAnswer(failure, request.id, request.authorized?.administers);
  if (request.raw.headers[PORT_HEADER] !== undefined) reply.header(FAILED_HEADER, failure.code);
  reply
    .code(status)
    .headers(headers)
    .header('X-Request-ID', request.id)
    .type('application/json; charset=utf-8');
  return sendObject(reply, body, { clock, logger });
}

/** Fastify closes after a body that it refused; lingering instead lets the client read why. */
function stayOpen({ socket }: IncomingMessage, reply: FastifyReply): void {
  if (reply.getHeader('Connection') === undefined) return;
  // Node takes a header that was removed for the wish to keep the connection, although the client has ended its side.
  if (socket.readableEnded) reply.raw.shouldKeepAlive = false;
  reply.removeHeader('Connection');
}

async function withContent(request: FastifyRequest, read: Promise<FileBody>): Promise<unknown> {
  const { body, content } = await read;
  request.content = content;
  return body;
}

function takeBodies(app: FastifyInstance): void {
  const strict = app.getDefaultJsonParser('error', 'error');
  const read = (text: string) => {
    let result: unknown;
    // Calls back before it returns.
    strict(undefined as never, text, (error, value) => {
      if (error) throw error;
      result = value;
    });
    return result;
  };
  app.removeAllContentTypeParsers();
  app.decorateRequest('pass', undefined);
  app.decorateRequest('bodyHold', undefined);
  app.decorateRequest('bodyFault', undefined);
  app.decorateRequest('content', undefined);
  app.addContentTypeParser(JSON_TYPE, (request, payload, done) => {
    const { bodyHold: hold, bodyFault } = request;
    const terms: BodyTerms = { limit: request.routeOptions.bodyLimit, read, hold };
    const body = bodyFault
      ? withContent(request, fileBody(payload, terms, bodyFault))
      : jsonBody(payload, terms);
    if (body instanceof Promise) body.then((value: unknown) => done(null, value), done);
    else done(null, body);
  });
  app.addContentTypeParser([BYTES_TYPE, TAR_TYPE], (_request, payload, done) => done(null, payload));
}
