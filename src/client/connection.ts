// Where the client's requests go and what each of them carries, from the options a caller gives.
import { Agent } from 'undici';
import { ServiceError } from '../domain/errors.ts';
import { ownerHeader } from '../domain/owner-header.ts';
import type { Connection } from './call.ts';
import { RETRY, type RetryTerms } from './retry.ts';

export interface ClientOptions {
  /** `http://host:port`; the path of the API may follow, another is refused. */
  server: string;
  /** What set the address, in words such as `from SVC_SERVER`: failures to reach it say them. */
  serverFrom?: string;
  apiKey?: string;
  adminKey?: string;
  /** The owner to act for, sent as X-User-ID. */
  user?: string;
  /** How long a plain call may take; 120 s unless given. Execs end by their own deadline. */
  timeoutMs?: number;
  /**
   * How often and how long a call is sent again that the server refuses for the moment (429, 503 with Retry-After); 10
   * attempts within 120 s unless given, false: never. Only what can be done twice, and what was not begun.
   */
  retry?: Partial<RetryTerms> | false;
}

/** The specification calls the address with this path the base URL. */
const API_BASE = /^\/(?:api\/v1\/?)?$/;
const TIMEOUT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Streams send a sign of life every 15 s. */
const SILENCE_MS = 90_000;

/** Nothing is sent yet. Throws `bad_request` for an address or a header value that is none. */
export function connectionTo(options: ClientOptions, closing: AbortSignal): Connection {
  const { origin } = addressOf(options);
  const headers: Record<string, string> = {};
  if (options.apiKey !== undefined) headers['x-api-key'] = options.apiKey;
  if (options.adminKey !== undefined) headers['x-admin-api-key'] = options.adminKey;
  if (options.user !== undefined) headers['x-user-id'] = ownerHeader(options.user);
  for (const [name, value] of Object.entries(headers)) refuseControl(name, value);
  const dispatcher = new Agent({ connectTimeout: CONNECT_TIMEOUT_MS, bodyTimeout: SILENCE_MS });
  const from = options.serverFrom;
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const retry = options.retry === false ? {} : { retry: { ...RETRY, ...options.retry } };
  return { dispatcher, origin, from, headers, timeoutMs, closing, ...retry };
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
  throw new ServiceError('bad_request', `The value for ${name} holds characters that no header can carry.`);
}
