// One request of the client and what may come back: the answer, or a ServiceError with the server's code, words and
// request id. Every answer has a bound and every wait an end.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { ByteBlocks } from '../domain/byte-blocks.ts';
import { ERROR_TABLE, ServiceError } from '../domain/errors.ts';
import { JsonFault, JsonStructure, type StructureLimits } from '../domain/json-structure.ts';
import { API_PREFIX, operationOf, type RouteId } from '../http/paths.ts';
import type { ErrorCode } from '../schema/error.ts';
import { type RetryTerms, retried } from './retry.ts';

export interface Connection extends Address {
  dispatcher: Dispatcher;
  /** Sent with every request. */
  headers: Record<string, string>;
  timeoutMs: number;
  /** Absent: nothing is sent again by itself. */
  retry?: RetryTerms;
  /** Aborts when the client is closed: what follows something has no end of its own. */
  closing: AbortSignal;
}

/** What every call takes as its last argument. */
export interface CallTerms {
  signal?: AbortSignal | undefined;
}

export interface ExecTerms extends CallTerms {
  /** For 24 h the same key and request are one command. */
  idempotencyKey?: string;
}

/** Where a signal alone was the last argument it may still be given. */
export function termsOf<T extends CallTerms>(given: T | AbortSignal | undefined): Partial<T> & CallTerms {
  if (given instanceof AbortSignal) return { signal: given } as Partial<T> & CallTerms;
  return given ?? ({} as Partial<T> & CallTerms);
}

/** Where requests go, as failures tell of it. */
export interface Address {
  origin: string;
  /** What set the address, in words such as `from SVC_SERVER`. */
  from?: string | undefined;
}

type Query = Record<string, string | number | boolean | undefined>;

export interface CallOptions {
  /** For the places in the path; `path` keeps its slashes. */
  params?: Record<string, string>;
  query?: Query;
  json?: unknown;
  /** A stream is sent once; a function that makes one is called for each attempt. */
  bytes?: string | Uint8Array | Readable | (() => Readable | Promise<Readable>);
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** How long the server may think; 0 is without end. */
  timeoutMs?: number;
}

/** It holds the address that it came from. */
export type ClientAnswer = Dispatcher.ResponseData<Address>;

const MAX_JSON_BYTES = 256 * 1024 * 1024;
/** A folder of 50,000 files has about two million. */
const STRUCTURE = { depth: 64, tokens: 8_000_000 };
const MAX_ERROR_BYTES = 1024 * 1024 * 64;
const ERROR_STRUCTURE = { depth: 64, tokens: 20_000 };

/** Methods that are as often done as once. */
const SAFE = new Set(['GET', 'HEAD', 'DELETE']);

/** Sends, also again where `retried` does; resolves with the answer's head when its status is below 400. */
export function send(connection: Connection, id: RouteId, options: CallOptions = {}): Promise<ClientAnswer> {
  const isOnce = typeof options.bytes === 'object' && !(options.bytes instanceof Uint8Array);
  const isSafe = SAFE.has(operationOf(id).method) || options.headers?.['idempotency-key'] !== undefined;
  const terms = isOnce ? undefined : connection.retry;
  return retried(terms, { isSafe, signal: options.signal }, () => sendOnce(connection, id, options));
}

async function sendOnce(connection: Connection, id: RouteId, options: CallOptions): Promise<ClientAnswer> {
  const { method, path } = operationOf(id);
  const { body, type } = await bodyOf(options);
  const { origin, from } = connection;
  let answer: ClientAnswer;
  try {
    answer = await connection.dispatcher.request({
      origin,
      opaque: { origin, from },
      method,
      path: `${API_PREFIX}${fill(path, options.params)}${queryText(options.query)}`,
      headers: { ...connection.headers, ...type, ...options.headers },
      body,
      headersTimeout: options.timeoutMs ?? connection.timeoutMs,
      signal: options.signal ?? null,
    } as Dispatcher.RequestOptions<Address>);
  } catch (error) {
    throw transportFailure(error, connection, options.signal);
  }
  if (answer.statusCode < 400) return answer;
  throw await failureFrom(answer);
}

/** Sends and reads a JSON answer. */
export async function sendForJson<T>(
  connection: Connection,
  id: RouteId,
  options: CallOptions = {},
): Promise<T> {
  const answer = await send(connection, id, options);
  return readJson<T>(answer, options.signal);
}

export async function readJson<T>(answer: ClientAnswer, signal?: AbortSignal): Promise<T> {
  const terms = { limit: MAX_JSON_BYTES, structure: STRUCTURE };
  const text = await readText(answer, terms, signal);
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw unexpectedAnswer(cause, answer.opaque);
  }
}

export interface TextTerms {
  /** In bytes. */
  limit: number;
  /** Where it is JSON: more is not read. */
  structure?: StructureLimits;
}

/** Throws `internal` for a body over `limit` bytes, or with more structure than an answer of this API has. */
export async function readText(
  answer: ClientAnswer,
  { limit, structure }: TextTerms,
  signal?: AbortSignal,
): Promise<string> {
  const blocks = new ByteBlocks();
  const counted = structure && new JsonStructure(structure);
  let size = 0;
  try {
    for await (const part of answer.body as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > limit) throw new ServiceError('internal', "The server's answer is too large.");
      counted?.take(part);
      blocks.append(part);
    }
  } catch (error) {
    throw error instanceof JsonFault
      ? unexpectedAnswer(error, answer.opaque)
      : transportFailure(error, answer.opaque, signal);
  }
  return Buffer.concat(blocks.taken()).toString('utf8');
}

async function bodyOf({ json, bytes }: CallOptions): Promise<{
  body: string | Uint8Array | Readable | null;
  type: Record<string, string>;
}> {
  const body = typeof bytes === 'function' ? await bytes() : bytes;
  if (body !== undefined) return { body, type: { 'content-type': 'application/octet-stream' } };
  if (json === undefined) return { body: null, type: {} };
  return { body: JSON.stringify(json), type: { 'content-type': 'application/json' } };
}

/** Dots are left as they are: nothing on the way resolves them, and the server does it once. */
function fill(path: string, params: Record<string, string> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? '';
    return name === 'path' ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value);
  });
}

function queryText(query: Query = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return '';
  return `?${entries.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join('&')}`;
}

async function failureFrom(answer: ClientAnswer): Promise<ServiceError> {
  const terms = { limit: MAX_ERROR_BYTES, structure: ERROR_STRUCTURE };
  const text = await readText(answer, terms).catch(() => '');
  return answerFailure(text, answer.opaque, {
    status: answer.statusCode,
    retryAfter: Number(answer.headers['retry-after']),
  });
}

/** The failure that the JSON text of an answer tells of, in the server's own words. */
export function answerFailure(
  text: string,
  address: Address,
  { status, retryAfter = Number.NaN }: { status?: number | undefined; retryAfter?: number } = {},
): ServiceError {
  const { code, message, details, request_id } = parse(text);
  const isKnown = typeof code === 'string' && Object.hasOwn(ERROR_TABLE, code);
  if (!isKnown || typeof message !== 'string') return unexpectedAnswer(undefined, address, status);
  return new ServiceError(code as ErrorCode, message, {
    ...(status !== undefined && { status }),
    ...(code === 'unauthorized' && { hint: 'api_key' }),
    details: { ...(details as object | undefined), ...(request_id ? { request_id } : {}) },
    ...(Number.isFinite(retryAfter) && { retryAfterMs: retryAfter * 1000 }),
  });
}

function parse(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function unexpectedAnswer(cause: unknown, address: Address, status?: number): ServiceError {
  const what = status === undefined ? 'an answer' : `status ${status}`;
  return new ServiceError('internal', `${serverAt(address)} gave ${what} that is not of this API.`, {
    cause,
    remedy: `Check that ${address.origin}${sourceSuffix(address)} is the address of svc.`,
  });
}

const serverAt = ({ origin }: Address) => `The server at ${origin}`;
const sourceSuffix = ({ from }: Address) => (from === undefined ? '' : ` (${from})`);

/** What went wrong on the way, where the code says it. */
const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no address is known for the name',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNRESET: 'it was closed by the other side',
  EPIPE: 'it was closed by the other side',
  UND_ERR_SOCKET: 'it was closed by the other side',
  ETIMEDOUT: 'nothing came back',
  UND_ERR_CONNECT_TIMEOUT: 'nothing came back',
  EHOSTUNREACH: 'no way leads there',
  ENETUNREACH: 'no way leads there',
  EPROTO: 'it does not speak TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS',
};

/** What the network did, in our words. An abort by the caller stays the caller's own reason. */
export function transportFailure(error: unknown, address: Address, signal?: AbortSignal): unknown {
  if (error instanceof ServiceError) return error;
  if (signal?.aborted) return signal.reason;
  const code = String((error as { code?: unknown } | null)?.code);
  const { origin } = address;
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new ServiceError('timeout', `${serverAt(address)} did not answer in time.`, { cause: error });
  }
  if (code === 'ECONNREFUSED' || code === 'ENOENT') {
    return new ServiceError('unavailable', `No server answers at ${origin}${sourceSuffix(address)}.`, {
      cause: error,
      hint: 'server_address',
      remedy: 'Start the server: svc serve',
    });
  }
  const why = CONNECTION_ERRORS[code];
  const words = `The connection to ${origin}${sourceSuffix(address)} failed${why === undefined ? '' : `: ${why}`}.`;
  return new ServiceError('unavailable', words, {
    cause: error,
    remedy: 'Check the address and that the server runs.',
  });
}
