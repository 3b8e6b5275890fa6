// The only way out of the library: it speaks plain HTTP to this gate in our own process, and the gate asks the backend by
// `outgoing`. So no redirect is followed, each address is judged, replies are bounded, and no word of an error comes through.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../../domain/errors.ts';
import { judgedBytes, ONE_THING } from '../../domain/json-reading.ts';
import { JsonFault } from '../../domain/json-structure.ts';
import type { Clock, Random } from '../../domain/ports.ts';
import { invalidReply, orInvalidJson } from '../outgoing/faults.ts';
import { type Outgoing, type OutgoingRequest, outgoing } from '../outgoing/outgoing.ts';
import type { Reply } from '../outgoing/reply.ts';
import { envelopes } from './envelopes.ts';
import type { KeptErrors } from './errors.ts';

export const HOSTED_BACKEND = 'The hosted backend';
const MEBIBYTE = 1024 * 1024;
/** What the library builds at once has to be small; the content of files it hands on as it comes. */
const MAX_BYTES: Record<ReplyKind, number> = {
  content: Number.MAX_SAFE_INTEGER,
  /** The library keeps all output of a command, twice as long as it was. */
  course: 128 * MEBIBYTE,
  lookup: 4 * MEBIBYTE,
  listing: 4 * MEBIBYTE,
  thing: MEBIBYTE,
};
/** A page of sandboxes, or a folder with about 3,000 files: the library takes 15 µs for each. */
const MANY_THINGS = { depth: 16, tokens: 60_000 };
const LIST = '/filesystem.Filesystem/ListDir';
const isContent = (path: string) => path.startsWith('/files?');
const isCourse = (path: string) => /^\/process\.Process\/(?:Start|Connect)$/.test(path);
const HOP_BY_HOP =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect|accept-encoding)$/;
const PASSED_BACK =
  /^(?:content-type|content-length|content-disposition|last-modified|connect-.*|retry-after|x-next-token)$/;

export interface LoopbackProxyOptions {
  clock: Clock;
  random: Random;
  /** Where /<secret>/api and /<secret>/box lead. */
  api: string;
  box: string;
  timeoutMs: number;
  faults: KeptErrors;
}

export interface LoopbackProxy {
  apiUrl: string;
  sandboxUrl: string;
  close(): Promise<void>;
}

/** Listens on loopback, open to who knows its secret path: this process. */
export async function openLoopbackProxy(options: LoopbackProxyOptions): Promise<LoopbackProxy> {
  const secret = options.random.bytes(24).toString('hex');
  const { clock, timeoutMs } = options;
  const to = (baseUrl: string) =>
    outgoing({ what: HOSTED_BACKEND, baseUrl, clock, timeoutMs, connections: 1024 });
  const ways = new Map([
    [`/${secret}/api`, to(options.api)],
    [`/${secret}/box`, to(options.box)],
  ]);
  const server = createServer(
    (req, res) => void proxyRequest({ upstreams: ways, faults: options.faults }, req, res),
  );
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  server.unref();
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}`;
  return { apiUrl: `${base}/api`, sandboxUrl: `${base}/box`, close: () => close(server, ways) };
}

async function close(server: Server, ways: ReadonlyMap<string, Outgoing>): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  for (const way of ways.values()) await way.close();
}

interface ProxiedRequest {
  path: string;
  kind: ReplyKind;
  signal: AbortSignal;
}

interface ProxyContext {
  upstreams: ReadonlyMap<string, Outgoing>;
  faults: KeptErrors;
}

async function proxyRequest(
  { upstreams: ways, faults }: ProxyContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const [, prefix = '', path = ''] = /^(\/[^/]+\/[a-z]+)(\/.*)$/s.exec(req.url ?? '') ?? [];
  const way = ways.get(prefix);
  if (!way) return void res.writeHead(404).end();
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  try {
    const kind = kindOf(req, prefix, path);
    const reply = await way.request(upstreamRequest(req, { path, kind, signal: gone.signal }));
    if (reply.status >= 400) await relayRefusal(res, reply);
    else await relayReply(res, reply, await checkedBody(reply, kind));
  } catch (error) {
    if (res.headersSent) res.destroy();
    // Known to the library by its number, to us by what is kept under it.
    else writeRefusal(res, 500, { code: 'internal', message: faults.keep(error) });
  }
}

function upstreamRequest(req: IncomingMessage, { path, kind, signal }: ProxiedRequest): OutgoingRequest {
  const headers = Object.entries(req.headers).filter(([name]) => !HOP_BY_HOP.test(name));
  const hasBody =
    req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined;
  return {
    method: req.method as OutgoingRequest['method'],
    path,
    headers: Object.fromEntries(headers) as Record<string, string>,
    ...(hasBody && { body: req }),
    signal,
    maxBytes: MAX_BYTES[kind],
    ...((isContent(path) || kind === 'course') && { withinMs: 0 }),
    ...(kind === 'course' && { idleMs: 0 }),
  };
}

/** What the answer to a request may be, by what the library makes of it. */
type ReplyKind = 'content' | 'course' | 'lookup' | 'listing' | 'thing';

function kindOf({ method }: IncomingMessage, prefix: string, path: string): ReplyKind {
  if (prefix.endsWith('/api')) return method === 'GET' ? 'lookup' : 'thing';
  if (isContent(path)) return method === 'GET' ? 'content' : 'thing';
  if (isCourse(path)) return 'course';
  return path === LIST ? 'listing' : 'thing';
}

/** What may be given to the library, which builds all of an answer at once. */
async function checkedBody(reply: Reply, kind: ReplyKind): Promise<Body> {
  if (kind === 'content') return reply.body();
  if (kind === 'course') return envelopes(reply.body());
  const limits = kind === 'thing' ? ONE_THING : MANY_THINGS;
  const bytes = await judgedBytes(reply.body(), limits).catch((error: unknown) => {
    throw kind === 'listing' && error instanceof JsonFault
      ? largeFolder()
      : orInvalidJson(HOSTED_BACKEND, error);
  });
  // The library takes an answer without content for an empty list: all that runs would count as gone.
  if (kind === 'lookup' && bytes.length === 0)
    throw invalidReply(HOSTED_BACKEND, 'sent a response without content');
  return [bytes];
}

function largeFolder(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    'The folder has more entries than the hosted backend can list.',
    {
      remedy: 'List a smaller folder or fewer levels.',
    },
  );
}

type Body = Iterable<Buffer> | AsyncIterable<Buffer>;

async function relayReply(res: ServerResponse, reply: Reply, body: Body): Promise<void> {
  const headers = Object.entries(reply.headers).filter(([name]) => PASSED_BACK.test(name));
  res.writeHead(reply.status, Object.fromEntries(headers)).flushHeaders();
  await pipeline(Readable.from(body, { objectMode: false }), res);
}

/** The status, and which error of its protocol it is; none of its words. */
async function relayRefusal(res: ServerResponse, reply: Reply): Promise<void> {
  const told = await reply.json(64 * 1024).catch(() => undefined);
  writeRefusal(res, reply.status, refusalBody(reply.status, told), reply.headers['retry-after']);
}

function writeRefusal(res: ServerResponse, status: number, body: object, retryAfter?: string): void {
  const again = retryAfter !== undefined && /^\d{1,5}$/.test(retryAfter) ? { 'retry-after': retryAfter } : {};
  res.writeHead(status, { 'content-type': 'application/json', ...again }).end(JSON.stringify(body));
}

/** Of the protocol of the sandbox. https://connectrpc.com/docs/protocol/#error-codes */
const CODES = new Set([
  ...['canceled', 'unknown', 'invalid_argument', 'deadline_exceeded', 'not_found', 'already_exists'],
  ...['permission_denied', 'resource_exhausted', 'failed_precondition', 'aborted', 'out_of_range'],
  ...['unimplemented', 'internal', 'unavailable', 'data_loss', 'unauthenticated'],
]);

/** `told` is the body of the backend. */
export function refusalBody(status: number, told: unknown): { code: string | number; message: string } {
  const code = (told as { code?: unknown } | null | undefined)?.code;
  return { code: typeof code === 'string' && CODES.has(code) ? code : status, message: 'refused' };
}
