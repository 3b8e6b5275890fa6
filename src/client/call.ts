// One request of the client. Resolves with the answer, or rejects with a ServiceError that has the server's code, message and
// request id. Bounds the size of every answer and the time of every wait.
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
  spawnTimeoutMs: number;
  /** Absent: no retries. */
  retry?: RetryTerms;
  /** Aborts when the client is closed, for calls that follow a stream without an end. */
  closing: AbortSignal;
}

/** The last argument of every call. */
export interface CallTerms {
  signal?: AbortSignal | undefined;
}

export interface ExecTerms extends CallTerms {
  /** For 24 h the same key and request are one command. */
  idempotencyKey?: string;
}

/** The signal, and the header of the key. */
export function keyedTerms({
  signal,
  idempotencyKey: key,
}: ExecTerms): Pick<CallOptions, 'signal' | 'headers'> {
  return { signal, ...(key !== undefined && { headers: { 'idempotency-key': key } }) };
}

/** Some calls also accept a signal alone, for compatibility. */
export function termsOf<T extends CallTerms>(given: T | AbortSignal | undefined): Partial<T> & CallTerms {
  if (given instanceof AbortSignal) return { signal: given } as Partial<T> & CallTerms;
  return given ?? ({} as Partial<T> & CallTerms);
}

/** The server's address, for requests and error messages. */
export interface Address {
  origin: string;
  /** The source of the address, such as `from SVC_SERVER`. */
  from?: string | undefined;
}

type Query = Record<string, string | number | boolean | undefined>;

export interface CallOptions {
  /** Path parameters; `path` keeps its slashes. */
  params?: Record<string, string>;
  query?: Query;
  json?: unknown;
  /** A stream is sent once; a function is called for each attempt. */
  bytes?: string | Uint8Array | Readable | (() => Readable | Promise<Readable>);
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Time until the response starts; 0 waits forever. */
  timeoutMs?: number;
}

export type ClientAnswer = Dispatcher.ResponseData<Address>;

const MAX_JSON_BYTES = 256 * 1024 * 1024;
/** A folder of 50,000 files has about two million. */
const STRUCTURE = { depth: 64, tokens: 8_000_000 };
const MAX_ERROR_BYTES = 1024 * 1024 * 64;
const ERROR_STRUCTURE = { depth: 64, tokens: 20_000 };

/** Methods that are safe to repeat. */
const SAFE = new Set(['GET', 'HEAD', 'DELETE']);

/** Sends with the retries of `retried`. Resolves with the response head if its status is below 400. */
export function send(connection: Connection, id: RouteId, options: CallOptions = {}): Promise<ClientAnswer> {
  const isOnce = typeof options.bytes === 'object' && !(options.bytes instanceof Uint8Array);
  const isSafe = SAFE.has(operationOf(id).method) || options.headers?.['idempotency-key'] !== undefined;
  const terms = isOnce ? undefined : connection.retry;
  return retried(terms, { isSafe, signal: options.signal }, () => sendOnce(connection, id, options));
}

const SPAWNS: readonly RouteId[] = ['spawnSandbox', 'spawnTemplate'];

const timeoutOf = ({ timeoutMs, spawnTimeoutMs }: Connection, id: RouteId) =>
  SPAWNS.includes(id) ? spawnTimeoutMs : timeoutMs;

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
      headersTimeout: options.timeoutMs ?? timeoutOf(connection, id),
      signal: options.signal ?? null,
    } as Dispatcher.RequestOptions<Address>);
  } catch (error) {
    throw transportFailure(error, connection, options.signal);
  }
  if (answer.statusCode < 400) return answer;
  throw await failureFrom(answer);
}

/** The cursor of the next page. */
export function nextOf({ headers }: ClientAnswer): { next_cursor?: string } {
  const next = headers['x-next-cursor'];
  return typeof next === 'string' ? { next_cursor: next } : {};
}

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
  /** Maximum size in bytes. */
  limit: number;
  /** Maximum structure of a JSON answer. */
  structure?: StructureLimits;
}

/** Throws `internal` for a body that exceeds `limit` or `structure`. */
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

/** Leaves dots as they are: only the server resolves them. */
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

interface AnswerFacts {
  status?: number | undefined;
  /** Seconds; NaN where the server names no time. */
  retryAfter?: number;
  /** For a text that does not hold it. */
  requestId?: string | undefined;
}

/** The failure in the JSON text of an answer, with the server's message. */
export function answerFailure(
  text: string,
  address: Address,
  { status, retryAfter = Number.NaN, requestId }: AnswerFacts = {},
): ServiceError {
  const { code, message, details, request_id = requestId } = parse(text);
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
  return new ServiceError('internal', `${serverAt(address)} sent ${what} that does not come from this API.`, {
    cause,
    remedy: `Check that ${address.origin}${sourceSuffix(address)} is the address of svc.`,
  });
}

const serverAt = ({ origin }: Address) => `The server at ${origin}`;
const sourceSuffix = ({ from }: Address) => (from === undefined ? '' : ` (${from})`);

/** Reasons for failed connections by system error code. */
const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name has no address',
  EAI_AGAIN: 'the host name lookup failed',
  ECONNRESET: 'the other side closed it',
  EPIPE: 'the other side closed it',
  UND_ERR_SOCKET: 'the other side closed it',
  ETIMEDOUT: 'it timed out',
  UND_ERR_CONNECT_TIMEOUT: 'it timed out',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the host',
  EPROTO: 'the server does not use TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not use TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the server does not use TLS',
};

/** A transport error as a ServiceError. An abort by the caller keeps the caller's own reason. */
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
    remedy: 'Check the address, and that the server is running.',
  });
}
