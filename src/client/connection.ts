// Builds the connection of a client from its options.
import { Agent, type buildConnector } from 'undici';
import { ServiceError } from '../domain/errors.ts';
import { ownerHeader } from '../domain/owner-header.ts';
import type { Connection } from './call.ts';
import { RETRY, type RetryTerms } from './retry.ts';

export interface ClientOptions {
  /** `http://host:port`, optionally with the path of the API. */
  server: string;
  /** The source of the address, such as `from SVC_SERVER`, for error messages. */
  serverFrom?: string;
  apiKey?: string;
  adminKey?: string;
  /** The owner to act for, sent as X-User-ID. */
  user?: string;
  /** Timeout of a call; 120 s by default, 6 min for a spawn. Execs have their own timeout. */
  timeoutMs?: number;
  /**
   * Retries of calls that the server refuses temporarily (429, 503 with Retry-After); 10 attempts within 120 s by default,
   * false disables them. Repeats only safe calls and calls that were not started.
   */
  retry?: Partial<RetryTerms> | false;
}

/** For a client within the server: connections and headers that are made there. */
export interface PipedOptions extends ClientOptions {
  connect: buildConnector.connector;
  /** Sent with every request. */
  headers: Record<string, string>;
  /** Bytes of a JSON answer at most. */
  maxJsonBytes: number;
}

const API_BASE = /^\/(?:api\/v1\/?)?$/;
const TIMEOUT_MS = 120_000;
/** A spawn may wait in the queue, and for the pull of its image. */
const SPAWN_TIMEOUT_MS = 6 * 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Streams send a keepalive every 15 s. */
const SILENCE_MS = 90_000;

/** Throws `bad_request` for an invalid address or header value. */
export function connectionTo(options: ClientOptions | PipedOptions, closing: AbortSignal): Connection {
  const { origin } = addressOf(options);
  const piped = 'connect' in options ? options : undefined;
  const headers: Record<string, string> = { ...piped?.headers };
  if (options.apiKey !== undefined) headers['x-api-key'] = options.apiKey;
  if (options.adminKey !== undefined) headers['x-admin-api-key'] = options.adminKey;
  if (options.user !== undefined) headers['x-user-id'] = ownerHeader(options.user);
  for (const [name, value] of Object.entries(headers)) refuseControl(name, value);
  const connect = piped && { connect: piped.connect };
  const dispatcher = new Agent({ connectTimeout: CONNECT_TIMEOUT_MS, bodyTimeout: SILENCE_MS, ...connect });
  const from = options.serverFrom;
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const spawnTimeoutMs = options.timeoutMs ?? SPAWN_TIMEOUT_MS;
  const retry = options.retry === false ? {} : { retry: { ...RETRY, ...options.retry } };
  const { maxJsonBytes } = piped ?? {};
  return { dispatcher, origin, from, maxJsonBytes, headers, timeoutMs, spawnTimeoutMs, closing, ...retry };
}

function addressOf({ server, serverFrom }: ClientOptions): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  const isBase = url && API_BASE.test(url.pathname) && !url.username && !url.search;
  if (isBase && /^https?:$/.test(url.protocol)) return url;
  const from = serverFrom === undefined ? '' : ` (${serverFrom})`;
  throw new ServiceError('bad_request', `The server address${from} is not valid.`, {
    remedy: 'Write it like http://127.0.0.1:7423, without a path, or with /api/v1.',
  });
}

function refuseControl(name: string, value: string): void {
  if (/^[\x20-\x7e\x80-\xff]*$/.test(value)) return;
  throw new ServiceError(
    'bad_request',
    `The value for ${name} contains characters that are not valid in a header.`,
  );
}
