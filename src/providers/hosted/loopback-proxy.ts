// The library's only connection: it speaks plain HTTP to this proxy in our own process, and the proxy forwards each request
// through `outgoing`. So redirects are not followed, addresses are checked, replies are bounded, and error texts are dropped.
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
import { HOSTED_BACKEND, type KeptErrors } from './errors.ts';

const MEBIBYTE = 1024 * 1024;
/** Replies that the library builds in memory are small; the content of files is streamed. */
const MAX_BYTES: Record<ReplyKind, number> = {
  content: Number.MAX_SAFE_INTEGER,
  /** The library keeps all output of a command in memory, in twice its size. */
  course: 128 * MEBIBYTE,
  lookup: 4 * MEBIBYTE,
  listing: 4 * MEBIBYTE,
  thing: MEBIBYTE,
};
/** Enough for a page of sandboxes or a folder with about 3,000 files: the library takes 15 µs for each. */
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
  /** Targets of /<secret>/api and /<secret>/box. */
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

/** Listens on loopback. Only this process knows the secret path. */
export async function openLoopbackProxy(options: LoopbackProxyOptions): Promise<LoopbackProxy> {
  const secret = options.random.bytes(24).toString('hex');
  const { clock, timeoutMs } = options;
  const to = (baseUrl: string) =>
    outgoing({ what: HOSTED_BACKEND, baseUrl, clock, timeoutMs, connections: 1024 });
  const upstreams = new Map([
    [`/${secret}/api`, to(options.api)],
    [`/${secret}/box`, to(options.box)],
  ]);
  const server = createServer(
    (req, res) => void proxyRequest({ upstreams, faults: options.faults }, req, res),
  );
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  server.unref();
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}`;
  return { apiUrl: `${base}/api`, sandboxUrl: `${base}/box`, close: () => close(server, upstreams) };
}

async function close(server: Server, upstreams: ReadonlyMap<string, Outgoing>): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  for (const upstream of upstreams.values()) await upstream.close();
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
  { upstreams, faults }: ProxyContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const [, prefix = '', path = ''] = /^(\/[^/]+\/[a-z]+)(\/.*)$/s.exec(req.url ?? '') ?? [];
  const upstream = upstreams.get(prefix);
  if (!upstream) return void res.writeHead(404).end();
  const closed = new AbortController();
  res.once('close', () => closed.abort());
  try {
    const kind = kindOf(req, prefix, path);
    const reply = await upstream.request(upstreamRequest(req, { path, kind, signal: closed.signal }));
    if (reply.status >= 400) await relayRefusal(res, reply);
    else await relayReply(res, reply, await checkedBody(reply, kind));
  } catch (error) {
    if (res.headersSent) res.destroy();
    // The library sees a number; KeptErrors has the error.
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

/** Kinds of reply, by how the library reads them. */
type ReplyKind = 'content' | 'course' | 'lookup' | 'listing' | 'thing';

function kindOf({ method }: IncomingMessage, prefix: string, path: string): ReplyKind {
  if (prefix.endsWith('/api')) return method === 'GET' ? 'lookup' : 'thing';
  if (isContent(path)) return method === 'GET' ? 'content' : 'thing';
  if (isCourse(path)) return 'course';
  return path === LIST ? 'listing' : 'thing';
}

/** The body as the library may have it; the library builds each reply in memory. */
async function checkedBody(reply: Reply, kind: ReplyKind): Promise<Body> {
  if (kind === 'content') return reply.body();
  if (kind === 'course') return envelopes(reply.body());
  const limits = kind === 'thing' ? ONE_THING : MANY_THINGS;
  const bytes = await judgedBytes(reply.body(), limits).catch((error: unknown) => {
    throw kind === 'listing' && error instanceof JsonFault
      ? largeFolder()
      : orInvalidJson(HOSTED_BACKEND, error);
  });
  // The library reads an empty reply as an empty list: every running sandbox would count as lost.
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

/** Passes on the status and the error code of the protocol, without its message. */
async function relayRefusal(res: ServerResponse, reply: Reply): Promise<void> {
  const body = await reply.json(64 * 1024).catch(() => undefined);
  writeRefusal(res, reply.status, refusalBody(reply.status, body), reply.headers['retry-after']);
}

function writeRefusal(res: ServerResponse, status: number, body: object, retryAfter?: string): void {
  const again = retryAfter !== undefined && /^\d{1,5}$/.test(retryAfter) ? { 'retry-after': retryAfter } : {};
  res.writeHead(status, { 'content-type': 'application/json', ...again }).end(JSON.stringify(body));
}

/** Error codes of the sandbox protocol. https://connectrpc.com/docs/protocol/#error-codes */
const CODES = new Set(
  `canceled unknown invalid_argument deadline_exceeded not_found already_exists permission_denied
   resource_exhausted failed_precondition aborted out_of_range unimplemented internal unavailable
   data_loss unauthenticated`.split(/\s+/),
);

/** The body of an error as the library needs it: its code, without the backend's message. */
function refusalBody(status: number, body: unknown): { code: string | number; message: string } {
  const code = (body as { code?: unknown } | null | undefined)?.code;
  return { code: typeof code === 'string' && CODES.has(code) ? code : status, message: 'refused' };
}
