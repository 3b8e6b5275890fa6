// One request of the client and what may come back: the answer, or a ServiceError with the server's code, words and
// request id. Every answer has a bound and every wait an end.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { ByteBlocks } from '../domain/byte-blocks.ts';
import { ERROR_TABLE, ServiceError } from '../domain/errors.ts';
import { JsonFault, JsonStructure, type StructureLimits } from '../domain/json-structure.ts';
import { API_PREFIX, placeOf, type RouteId } from '../http/paths.ts';
import type { ErrorCode } from '../schema/error.ts';

export interface Connection {
  dispatcher: Dispatcher;
  origin: string;
  /** Sent with every request. */
  headers: Record<string, string>;
  timeoutMs: number;
}

type Query = Record<string, string | number | boolean | undefined>;

export interface CallOptions {
  /** For the places in the path; `path` keeps its slashes. */
  params?: Record<string, string>;
  query?: Query;
  json?: unknown;
  bytes?: string | Uint8Array | Readable;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** How long the server may think; 0 is without end. */
  timeoutMs?: number;
}

export type ClientAnswer = Dispatcher.ResponseData;

const MAX_JSON_BYTES = 256 * 1024 * 1024;
/** A folder of 50,000 files has about two million. */
const STRUCTURE = { depth: 64, tokens: 8_000_000 };
const MAX_ERROR_BYTES = 1024 * 1024 * 64;
const ERROR_STRUCTURE = { depth: 64, tokens: 20_000 };

/** Sends; resolves with the answer's head when its status is below 400. */
export async function send(
  connection: Connection,
  id: RouteId,
  options: CallOptions = {},
): Promise<ClientAnswer> {
  const { method, path } = placeOf(id);
  const { body, type } = bodyOf(options);
  let answer: ClientAnswer;
  try {
    answer = await connection.dispatcher.request({
      origin: connection.origin,
      method,
      path: `${API_PREFIX}${fill(path, options.params)}${queryText(options.query)}`,
      headers: { ...connection.headers, ...type, ...options.headers },
      body,
      headersTimeout: options.timeoutMs ?? connection.timeoutMs,
      signal: options.signal ?? null,
    } as Dispatcher.RequestOptions);
  } catch (error) {
    throw transportFailure(error, options.signal);
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
    throw strange(cause);
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
    throw error instanceof JsonFault ? strange(error) : transportFailure(error, signal);
  }
  return Buffer.concat(blocks.taken()).toString('utf8');
}

function bodyOf({ json, bytes }: CallOptions): {
  body: string | Uint8Array | Readable | null;
  type: Record<string, string>;
} {
  if (bytes !== undefined) return { body: bytes, type: { 'content-type': 'application/octet-stream' } };
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
  return answerFailure(text, answer.statusCode, Number(answer.headers['retry-after']));
}

/** The failure that the JSON text of an answer tells of, in the server's own words. */
export function answerFailure(text: string, status?: number, retryAfter = Number.NaN): ServiceError {
  const { code, message, details, request_id } = parse(text);
  const isKnown = typeof code === 'string' && Object.hasOwn(ERROR_TABLE, code);
  if (!isKnown || typeof message !== 'string') return strange(undefined, status);
  return new ServiceError(code as ErrorCode, message, {
    ...(status !== undefined && { status }),
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

function strange(cause: unknown, status?: number): ServiceError {
  const what = status === undefined ? 'an answer' : `status ${status}`;
  return new ServiceError('internal', `The server gave ${what} that is not of this API.`, {
    cause,
    remedy: 'Check that the address is that of svc.',
  });
}

/** What the network did, in our words. An abort by the caller stays the caller's own reason. */
export function transportFailure(error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof ServiceError) return error;
  if (signal?.aborted) return signal.reason;
  const code = String((error as { code?: unknown } | null)?.code);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new ServiceError('timeout', 'The server did not answer in time.', { cause: error });
  }
  const refused = code === 'ECONNREFUSED' || code === 'ENOENT';
  return new ServiceError(
    'unavailable',
    refused ? 'No server answers at this address.' : 'The connection to the server failed.',
    {
      cause: error,
      remedy: refused ? 'Start the server: svc serve' : 'Check the address and that the server runs.',
    },
  );
}
