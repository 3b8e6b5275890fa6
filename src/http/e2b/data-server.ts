// Serves the data plane of E2B: RPCs, files, health and measurements of one sandbox. What a sandbox sends is never shown by a
// browser on the origin of this server.
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { accountOf } from '../../domain/byte-ledger.ts';
import { ServiceError } from '../../domain/errors.ts';
import { keepNewest } from '../../domain/keep-newest.ts';
import { BYTES_TYPE, hasBody, mediaType } from '../body/body.ts';
import { lingerOver, watchPace } from '../body/slow-body.ts';
import { heldFor } from '../call.ts';
import { disconnectSignal } from '../client-disconnect.ts';
import { logFailure, toServiceError } from '../errors.ts';
import type { RouteId } from '../paths.ts';
import type { Route } from '../route.ts';
import { dataFailure, sandboxGone, sendAnswer } from './answers.ts';
import { CODE_PORT, codeService } from './code-service.ts';
import { admit, type DataAuth, SandboxGone } from './data-access.ts';
import type { FacadeDeps } from './facade-deps.ts';
import { type FilesDeps, readFile, writeFiles } from './files-content.ts';
import { filesystemService } from './filesystem/filesystem-service.ts';
import { marks } from './marks.ts';
import { owners } from './owners.ts';
import { environmentIn, usage } from './plain-views.ts';
import { processService } from './process/process-service.ts';
import { objectOf, readBytes } from './read-body.ts';
import { RpcFailure, rpcFailure } from './rpc/failure.ts';
import { lastFrame, messageFrame, requestFrames } from './rpc/frames.ts';
import {
  type ClientStream,
  openStream,
  type RpcCall,
  type ServerStream,
  STREAM_TYPE,
  type Unary,
} from './rpc/rpc.ts';
import { ownTarget } from './sandbox-ports.ts';
import { templateOf } from './sandbox-view.ts';
import { people, userOf } from './users.ts';

/** The largest message of an RPC, in bytes. */
const MOST_MESSAGE = 64 * 1024 * 1024;
/** The most sandboxes whose template is kept in memory. */
const MOST_TEMPLATES = 4096;
/** The protocol has no code for it. */
const UNSUPPORTED_TYPE = 415;
const SAFE = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Disposition': 'attachment',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cache-Control': 'no-store',
};
const PROCESS_PING = { event: { keepalive: {} } };
const WATCH_PING = { keepalive: {} };

type Handler = (call: RpcCall, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function serveData(plane: FastifyInstance, deps: FacadeDeps): void {
  const { control, clock } = deps;
  const namesOf = owners({ control, clock });
  const shared = { control, clock, namesOf, people: people({ control, namesOf }) };
  const templateOfCall = templates(control);
  const process = processService({ ...shared, marks: marks(control), templateOf: templateOfCall });
  const filesystem = filesystemService(shared);
  const add = (method: 'GET' | 'POST' | 'DELETE', url: string, auth: DataAuth, handler: Handler) =>
    plane.route({
      method,
      url,
      exposeHeadRoute: false,
      config: { isOfSandbox: true },
      onRequest: (request, _reply, done) => enter(deps, request, url, done),
      handler: (request, reply) => serve(deps, { auth, handler }, request, reply),
    });
  const addRpc = (path: string, handler: Handler) => add('POST', path, 'token', handler);
  for (const [name, method] of Object.entries(process.unary))
    addRpc(`/process.Process/${name}`, unary(method, deps));
  for (const [name, method] of Object.entries(process.streams))
    addRpc(`/process.Process/${name}`, stream(method, PROCESS_PING, deps));
  for (const [name, method] of Object.entries(process.uploads))
    addRpc(`/process.Process/${name}`, upload(method, deps));
  for (const [name, method] of Object.entries(filesystem.unary))
    addRpc(`/filesystem.Filesystem/${name}`, unary(method, deps));
  for (const [name, method] of Object.entries(filesystem.streams))
    addRpc(`/filesystem.Filesystem/${name}`, stream(method, WATCH_PING, deps));
  const code = codeService({ ...shared, templateOf: templateOfCall, hijack: endless(deps) });
  for (const { method, path, handler } of code.routes) add(method, path, 'port', handler);
  // Without a sandbox it is the health of this server, as probes ask for it.
  add('GET', '/health', 'open', async (call, request, reply) => {
    if (call.sandbox_id === '' || portOf(request.raw, deps) !== CODE_PORT) return reply.code(204).send();
    await code.ready(call);
    return 'OK';
  });
  add('GET', '/metrics', 'token', async (call, _request, reply) =>
    sendAnswer(reply, { status: 200, headers: {}, body: await usage(deps, call) }),
  );
  add('GET', '/envs', 'token', async (call, _request, reply) =>
    sendAnswer(reply, { status: 200, headers: {}, body: await environmentIn(deps, call) }),
  );
  addFiles(add, { ...shared, maxFileSize: deps.config.current().server.max_file_size }, deps);
}

/** What a sandbox is made from does not change. */
function templates({ sandboxes }: FacadeDeps['control']) {
  const known = new Map<string, string>();
  return async ({ sandbox_id, caller }: RpcCall) => {
    const before = known.get(sandbox_id);
    if (before !== undefined) return before;
    const found = templateOf(await sandboxes.get(sandbox_id, caller));
    keepNewest(known, sandbox_id, found, MOST_TEMPLATES);
    return found;
  };
}

/** The host wins over the header. */
function portOf({ headers }: FastifyRequest['raw'], { config }: FacadeDeps): string {
  const { preview_domain } = config.current().server;
  return String(ownTarget(headers, preview_domain)?.port ?? headers['e2b-sandbox-port']);
}

type Add = (method: 'GET' | 'POST' | 'DELETE', url: string, auth: DataAuth, handler: Handler) => void;

function addFiles(add: Add, files: FilesDeps, { clock }: FacadeDeps): void {
  const queryOf = ({ raw }: FastifyRequest) => new URL(raw.url ?? '/', 'http://x').searchParams;
  add('GET', '/files', 'file', async (call, request, reply) => {
    const { info, content, range, length } = await readFile(files, call, queryOf(request));
    reply.headers({ 'Content-Length': length, 'Accept-Ranges': 'bytes' }).type(BYTES_TYPE);
    reply.header('Last-Modified', new Date(info.mod_time).toUTCString());
    if (range) reply.code(206).header('Content-Range', `bytes ${range.first}-${range.last}/${info.size}`);
    return reply.send(content);
  });
  add('POST', '/files', 'file', async (call, request, reply) => {
    watchPace(request.raw, clock, () => request.raw.socket.destroy());
    const written = await writeFiles(files, call, { request: request.raw, query: queryOf(request) });
    // Zeros after the end of a gzip body, which nobody has read.
    lingerOver(request.raw, clock);
    return sendAnswer(reply, { status: 200, headers: {}, body: written });
  });
}

function enter({ pipeline }: FacadeDeps, request: FastifyRequest, url: string, done: () => void): void {
  request.route = routeOf(url);
  pipeline.turn(request, `address ${request.address}`, done);
}

/** For logs and metrics. */
const routes = new Map<string, Route>();
function routeOf(path: string): Route {
  const known: Route = routes.get(path) ?? {
    id: `e2b${path.replaceAll('/', '.')}` as RouteId,
    method: 'POST',
    path,
    scope: undefined,
    audited: 'never',
    owned: false,
    tag: 'sandboxes',
    auth: 'none',
    summary: path,
    errors: [],
    success: { status: 200, description: '' },
    handler: () => undefined,
  };
  routes.set(path, known);
  return known;
}

async function serve(
  deps: FacadeDeps,
  { auth, handler }: { auth: DataAuth; handler: Handler },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  for (const [name, value] of Object.entries(SAFE)) reply.raw.setHeader(name, value);
  try {
    const sandbox_id = await admit(deps, auth, request, reply);
    return await handler(callOf(deps, sandbox_id, request, reply), request, reply);
  } catch (error) {
    if (reply.raw.headersSent) throw error;
    if (hasBody(request.raw.headers)) lingerOver(request.raw, deps.clock);
    return sendAnswer(reply, failureOf(error, request, deps));
  }
}

function failureOf(error: unknown, request: FastifyRequest, { logger }: FacadeDeps) {
  if (error instanceof SandboxGone) return sandboxGone(error.sandbox_id);
  const isRpc = request.routeOptions.url?.includes('.') ?? false;
  if (!(error instanceof RpcFailure)) logFailure(logger, toServiceError(error), request.id);
  const isMistyped = !(error instanceof RpcFailure) && toServiceError(error).status === UNSUPPORTED_TYPE;
  if (isMistyped || (!isRpc && !(error instanceof RpcFailure)))
    return dataFailure(toServiceError(error), request.id);
  const { code, message, status } = rpcFailure(error, request.id);
  return { status, headers: {}, body: { code: isRpc ? code : status, message } };
}

function callOf(
  { control }: FacadeDeps,
  sandbox_id: string,
  { id: request_id, raw }: FastifyRequest,
  { raw: response }: FastifyReply,
): RpcCall {
  const caller = control.dataAccess.holderOf(sandbox_id, request_id);
  return {
    sandbox_id,
    caller,
    request_id,
    headers: raw.headers,
    user: userOf(raw.headers.authorization),
    signal: disconnectSignal(response),
    hold: heldFor(response, control.ledger.open(accountOf(caller))),
  };
}

function unary(method: Unary, { clock }: FacadeDeps): Handler {
  return async (call, request, reply) => {
    requireType(request, 'application/json');
    watchPace(request.raw, clock, () => request.raw.socket.destroy());
    const message = objectOf(await readBytes(request.raw, MOST_MESSAGE, call.hold));
    const body = await method(call, message);
    return sendAnswer(reply, { status: 200, headers: {}, body });
  };
}

function stream(method: ServerStream, ping: object, deps: FacadeDeps): Handler {
  return async (call, request, reply) => {
    requireType(request, STREAM_TYPE);
    const bytes = await readBytes(request.raw, MOST_MESSAGE, call.hold);
    const messages = requestFrames(pieceOf(bytes), MOST_MESSAGE);
    const { value } = await messages.next();
    if (value === undefined) throw new RpcFailure('invalid_argument', 'the request has no message');
    const message = objectOf(value);
    const response = endless(deps)(reply);
    const opened = openStream(response, { headers: request.raw.headers, clock: deps.clock, ping });
    await method(call, message, opened.stream).then(
      () => opened.end(),
      (error: unknown) => opened.end(rpcFailure(error, request.id)),
    );
    return reply;
  };
}

async function* pieceOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** The failure comes at once, also while the client is still sending. */
function upload(method: ClientStream, { clock }: FacadeDeps): Handler {
  return async (call, request, reply) => {
    requireType(request, STREAM_TYPE);
    const { raw } = request;
    const keeps = chargedTo(call.hold);
    const frames = requestFrames(raw.iterator({ destroyOnReturn: false }), MOST_MESSAGE, keeps);
    const messages = (async function* () {
      for await (const frame of frames) {
        yield objectOf(frame);
        await (request.pass ?? setImmediate)();
      }
    })();
    const outcome = await method(call, messages).catch((error: unknown) => rpcFailure(error, request.id));
    const response = hijack(reply);
    response.writeHead(200, { 'Content-Type': STREAM_TYPE });
    if (outcome instanceof RpcFailure) {
      const { code, message } = outcome;
      response.end(lastFrame({ error: { code, message } }));
      lingerOver(raw, clock);
    } else response.end(Buffer.concat([messageFrame(outcome), lastFrame({})]));
    return reply;
  };
}

/** Charges the most that was ever kept. */
function chargedTo(hold: RpcCall['hold']): (bytes: number) => void {
  let most = 0;
  return (bytes) => {
    if (bytes > most) hold.grow(bytes - most);
    most = Math.max(most, bytes);
  };
}

/** The response for an answer that ends only with its work. */
function endless({ inFlight }: FacadeDeps) {
  return (reply: FastifyReply) => {
    const response = hijack(reply);
    inFlight.endless(response);
    return response;
  };
}

function hijack(reply: FastifyReply): ServerResponse {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  return reply.raw;
}

function requireType({ raw }: FastifyRequest, type: string): void {
  const coding = raw.headers['content-encoding'] ?? 'identity';
  if (mediaType(raw.headers) === type && coding === 'identity') return;
  throw new ServiceError('unsupported_media_type', `Send the message as ${type}, not compressed.`);
}
