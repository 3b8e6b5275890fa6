// THE ONLY CLIENT for configured URLs (custom and hosted backends, workers): no redirects, addresses checked when
// connecting, replies bounded in bytes and time, errors without text of the other side.
import type { Dispatcher } from 'undici';
import { namesLoopback } from '../../domain/outgoing-address.ts';
import type { Clock } from '../../domain/ports.ts';
import { type ConnectionPool, type ConnectOptions, openConnectionPool } from './connect.ts';
import { tooLate, transportFault } from './faults.ts';
import { type Reply, readReply } from './reply.ts';
import { type Upgraded, upgradeConnection } from './upgrade.ts';

const CONNECTIONS = 128;
const MAX_REPLY_BYTES = 1024 * 1024;

export interface OutgoingOptions extends Omit<ConnectOptions, 'loopbackAllowed'> {
  /** An http or https URL. Its path prefixes that of every request; credentials, query and fragment are ignored. */
  baseUrl: string;
  clock: Clock;
  /** Timeout of a call without its own. */
  timeoutMs: number;
  /** Allows loopback addresses even if the URL does not name a loopback host literally. */
  allowLoopback?: boolean;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Maximum number of connections; further requests wait. */
  connections?: number;
}

export interface OutgoingRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Starts with a slash; already encoded. */
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent unchanged. A failing stream ends the request. */
  body?: Buffer | NodeJS.ReadableStream;
  signal?: AbortSignal | undefined;
  /** Timeout of the call including its body; 0 for none, with `idleMs` for the head and between two pieces. */
  withinMs?: number;
  idleMs?: number;
  /** Maximum size of the reply; 1 MiB by default. */
  maxBytes?: number;
}

export type UpgradeAsk = Required<Pick<OutgoingRequest, 'path' | 'headers' | 'withinMs'>> &
  Pick<OutgoingRequest, 'signal'> & { protocol: string };

export interface Outgoing {
  /**
   * Resolves with the head of any reply but a redirect; the body must be read or discarded. Rejects with an OutgoingFault
   * (`unavailable`, `provider_error`), or with the reason of `signal`. Never retries.
   */
  request(ask: OutgoingRequest): Promise<Reply>;
  /**
   * Changes to another protocol on a connection of its own, which then belongs to the caller. Resolves with the stream, or
   * with any other reply. Rejects as `request` does.
   */
  upgrade(ask: UpgradeAsk): Promise<Upgraded>;
  /** Ends requests in flight, not streams. Idempotent. */
  close(): Promise<void>;
}

/** Connects with the first request. Throws a TypeError for an invalid URL. */
export function outgoing(options: OutgoingOptions): Outgoing {
  const url = new URL(options.baseUrl);
  const loopbackAllowed = options.allowLoopback === true || namesLoopback(url);
  const reach = { ...options, loopbackAllowed };
  const prefix = url.pathname.replace(/\/+$/, '');
  let pool: ConnectionPool | undefined;
  let isClosed = false;
  const opened = () => {
    if (isClosed) throw new Error('closed');
    pool ??= openConnectionPool(url.origin, reach, options.connections ?? CONNECTIONS);
    return pool;
  };
  return {
    request: (ask) => request(opened, { ...options, prefix }, ask),
    upgrade: (ask) => upgrade(opened, { ...options, prefix }, ask),
    close: async () => {
      isClosed = true;
      await pool?.destroy().catch(() => undefined);
    },
  };
}

async function request(
  opened: () => ConnectionPool,
  options: OutgoingOptions & { prefix: string },
  ask: OutgoingRequest,
): Promise<Reply> {
  const { what } = options;
  const limit = limits(options, ask);
  try {
    const answer = await opened().request({ ...framed(options, ask), signal: limit.signal });
    return await readReply(answer, { what, maxBytes: ask.maxBytes ?? MAX_REPLY_BYTES, ...limit });
  } catch (error) {
    limit.over();
    throw limit.aborted() ?? transportFault(what, error);
  }
}

async function upgrade(
  opened: () => ConnectionPool,
  options: OutgoingOptions & { prefix: string },
  ask: UpgradeAsk,
): Promise<Upgraded> {
  const { path, headers, protocol, withinMs: idleMs } = ask;
  const limit = limits(options, ask);
  try {
    const request = {
      path: `${options.prefix}${path}`,
      headers: { ...options.headers, ...headers },
      protocol,
      idleMs,
    };
    return await upgradeConnection(opened(), request, limit.signal);
  } catch (error) {
    throw limit.aborted() ?? transportFault(options.what, error);
  } finally {
    limit.over();
  }
}

interface Limits {
  signal: AbortSignal;
  aborted(): unknown;
  over(): void;
}

/** The caller's signal and the deadline as one; the first cause is the reason. */
function limits(
  { clock, what, timeoutMs }: OutgoingOptions,
  { signal, withinMs = timeoutMs }: Pick<OutgoingRequest, 'signal' | 'withinMs'>,
): Limits {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const abort = () => stop.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const timer = withinMs > 0 ? clock.after(withinMs, () => stop.abort(tooLate(what))) : undefined;
  return {
    signal: stop.signal,
    aborted: () => (stop.signal.aborted ? stop.signal.reason : undefined),
    over: () => {
      timer?.cancel();
      signal?.removeEventListener('abort', abort);
    },
  };
}

function framed(
  { prefix, headers, timeoutMs }: OutgoingOptions & { prefix: string },
  ask: OutgoingRequest,
): Dispatcher.RequestOptions {
  const json = ask.json === undefined ? {} : { 'content-type': 'application/json' };
  const idle = ask.idleMs ?? timeoutMs;
  return {
    method: ask.method,
    path: `${prefix}${ask.path}${queryText(ask.query)}`,
    headers: { 'accept-encoding': 'identity', ...headers, ...json, ...ask.headers },
    body: (ask.json === undefined ? ask.body : JSON.stringify(ask.json)) as Dispatcher.RequestOptions['body'],
    headersTimeout: idle,
    bodyTimeout: idle,
  } as Dispatcher.RequestOptions;
}

function queryText(query: OutgoingRequest['query'] = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return '';
  return `?${entries.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join('&')}`;
}
