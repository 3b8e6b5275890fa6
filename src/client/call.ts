// One request of the client. Resolves with the answer, or rejects with a ServiceError that has the server's code, message and
// request id. Bounds the size of every answer and the time of every wait.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { ByteBlocks } from '../domain/byte-blocks.ts';
import { ServiceError } from '../domain/errors.ts';
import { JsonFault, JsonStructure, type StructureLimits } from '../domain/json-structure.ts';
import { realClock } from '../host/clock.ts';
import { API_PREFIX, operationOf, type RouteId } from '../http/paths.ts';
import { type Address, answerFailure, serverAt, transportFailure, unexpectedAnswer } from './failures.ts';
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
  /** Until the answer begins, retries included; rejects with `timeout`. */
  timeoutMs?: number | undefined;
}

/** The terms alone; an absent timeout leaves that of the call. */
export const callTerms = ({ signal, timeoutMs }: CallTerms): Pick<CallOptions, 'signal' | 'timeoutMs'> => ({
  signal,
  ...(timeoutMs !== undefined && { timeoutMs }),
});

export interface ExecTerms extends CallTerms {
  /** For 24 h the same key and request are one command. */
  idempotencyKey?: string;
}

/** The signal, and the header of the key. */
export function keyedTerms({
  idempotencyKey: key,
  ...terms
}: ExecTerms): Pick<CallOptions, 'signal' | 'timeoutMs' | 'headers'> {
  return { ...callTerms(terms), ...(key !== undefined && { headers: { 'idempotency-key': key } }) };
}

/** Some calls also accept a signal alone, for compatibility. */
export function termsOf<T extends CallTerms>(given: T | AbortSignal | undefined): Partial<T> & CallTerms {
  if (given instanceof AbortSignal) return { signal: given } as Partial<T> & CallTerms;
  return given ?? ({} as Partial<T> & CallTerms);
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
  /** Time until the response starts, with all retries; 0 waits forever. */
  timeoutMs?: number | undefined;
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
  const sent = (signal?: AbortSignal) =>
    retried(terms, { isSafe, signal }, () => sendOnce(connection, id, { ...options, signal }));
  return options.timeoutMs
    ? within(options.timeoutMs, connection, options.signal, sent)
    : sent(options.signal);
}

/** Rejects with `timeout` when `run` takes longer. The signal serves the body of the answer, too. */
async function within<T>(
  ms: number,
  address: Address,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timer = new AbortController();
  const late = new ServiceError('timeout', `${serverAt(address)} did not answer in time.`);
  const alarm = realClock().after(ms, () => timer.abort(late));
  try {
    return await run(signal ? AbortSignal.any([signal, timer.signal]) : timer.signal);
  } finally {
    alarm.cancel();
  }
}

const SPAWNS: readonly RouteId[] = ['spawnSandbox', 'spawnTemplate'];

const timeoutOf = ({ timeoutMs, spawnTimeoutMs }: Connection, id: RouteId) =>
  SPAWNS.includes(id) ? spawnTimeoutMs : timeoutMs;

async function sendOnce(connection: Connection, id: RouteId, options: CallOptions): Promise<ClientAnswer> {
  const { method, path } = operationOf(id);
  const { body, type } = await bodyOf(options);
  const { origin, from, maxJsonBytes } = connection;
  let answer: ClientAnswer;
  try {
    answer = await connection.dispatcher.request({
      origin,
      opaque: { origin, from, maxJsonBytes },
      method,
      path: `${API_PREFIX}${fill(path, options.params)}${queryText(options.query)}`,
      headers: { ...connection.headers, ...type, ...options.headers },
      body,
      headersTimeout: options.timeoutMs === undefined ? timeoutOf(connection, id) : 0,
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
  const terms = { limit: answer.opaque.maxJsonBytes ?? MAX_JSON_BYTES, structure: STRUCTURE };
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

export async function failureFrom(answer: ClientAnswer): Promise<ServiceError> {
  const terms = { limit: MAX_ERROR_BYTES, structure: ERROR_STRUCTURE };
  const text = await readText(answer, terms).catch(() => '');
  return answerFailure(text, answer.opaque, {
    status: answer.statusCode,
    retryAfter: Number(answer.headers['retry-after']),
  });
}
