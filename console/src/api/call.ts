// Calls of the API from the page. The address is relative to the page, so that it works below any prefix; the token goes in a
// header, so that no other page can send it.
import { allowed, slowDown } from './pace.ts';

/** The address of the console, which ends in `console/`. The build's page has a relative base, which is made absolute once. */
export const BASE = new URL('.', document.baseURI);
const API = new URL('../api/v1/', BASE);

/** What every call carries, set by the session. */
export const credentials: { token: string | undefined; owner: string | undefined } = {
  token: undefined,
  owner: undefined,
};

/** Called when a call is refused since nobody is logged in. */
export const refusals: { ended(): void } = { ended: () => {} };

export class Failure extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    code: string,
    message: string,
    more: { requestId?: string; retryAfter?: number; details?: Record<string, unknown> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = more.requestId;
    this.retryAfter = more.retryAfter;
    this.details = more.details ?? {};
  }

  /** Refused for now, whatever was asked. A limit of sandboxes or of times has the same status and no such time. */
  get isTooOften(): boolean {
    return this.status === 429 && this.retryAfter !== undefined;
  }
}

export interface CallOptions {
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON, unless it is bytes. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Fails where there were too many calls, and does not wait. */
  eager?: true;
}

export function addressOf(path: string, query: CallOptions['query'] = {}): URL {
  const url = new URL(path.replace(/^\//, ''), API);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  return url;
}

/**
 * Throws a `Failure` for every answer that is not a success, and for a server that cannot be reached. What only reads waits where the
 * server refuses calls since there were too many, unless it is `eager`.
 */
export function call(method: string, path: string, options: CallOptions = {}): Promise<Response> {
  const once = () => callOnce(method, path, options);
  return method === 'GET' && !options.eager ? patiently(once, options.signal) : once();
}

/** `work`, and again as long as it is refused since there were too many calls. Rejects when `stop` ends. */
export async function patiently<T>(work: () => Promise<T>, stop?: AbortSignal): Promise<T> {
  for (;;) {
    await allowed(stop);
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Failure && error.isTooOften)) throw error;
      slowDown(error.retryAfter);
    }
  }
}

async function callOnce(method: string, path: string, options: CallOptions): Promise<Response> {
  const { query, body, signal } = options;
  const headers: Record<string, string> = { ...ownHeaders(), ...options.headers };
  const isBytes = body instanceof Blob;
  if (body !== undefined && !isBytes) headers['Content-Type'] = 'application/json';
  const init: RequestInit = { method, headers, cache: 'no-store', credentials: 'omit' };
  if (body !== undefined) init.body = isBytes ? body : JSON.stringify(body);
  if (signal) init.signal = signal;
  let answer: Response;
  try {
    answer = await fetch(addressOf(path, query), init);
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new Failure(
      0,
      'unreachable',
      'The server does not answer. Check that svc serve runs, then try again.',
    );
  }
  if (answer.ok) return answer;
  const failure = await failureOf(answer);
  if (failure.status === 401 && credentials.token !== undefined) refusals.ended();
  throw failure;
}

export async function json<T>(method: string, path: string, options?: CallOptions): Promise<T> {
  return (await call(method, path, options)).json() as Promise<T>;
}

export const get = <T>(path: string, query?: CallOptions['query'], signal?: AbortSignal): Promise<T> =>
  json<T>('GET', path, { ...(query && { query }), ...(signal && { signal }) });

function ownHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  if (credentials.token !== undefined) headers['X-API-Key'] = credentials.token;
  if (credentials.owner !== undefined) headers['X-User-ID'] = headerText(credentials.owner);
  return headers;
}

/** A header holds bytes: the server reads UTF-8. */
export function headerText(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

async function failureOf(answer: Response): Promise<Failure> {
  const seconds = Number(answer.headers.get('Retry-After') ?? Number.NaN);
  const retry = Number.isFinite(seconds) ? { retryAfter: seconds } : {};
  try {
    const { code, message, request_id, details } = await answer.json();
    const more = { requestId: request_id, ...retry, ...(details && { details }) };
    return new Failure(answer.status, String(code), String(message), more);
  } catch {
    return new Failure(answer.status, 'unexpected', `The server answered ${answer.status}.`, retry);
  }
}

export interface PagesOptions<T> {
  /** Rows in all, and in one answer. */
  most: number;
  page?: number;
  signal?: AbortSignal;
  onPage?(rows: T[]): void;
}

/** All pages of a list, at most `most` rows. */
export async function pages<T>(
  path: string,
  query: NonNullable<CallOptions['query']>,
  { most, page = 1000, signal, onPage }: PagesOptions<T>,
): Promise<{ rows: T[]; isCut: boolean }> {
  const rows: T[] = [];
  let cursor: string | undefined;
  do {
    const limit = Math.min(page, most - rows.length);
    const answer = await call('GET', path, {
      query: { ...query, limit, cursor },
      ...(signal && { signal }),
    });
    rows.push(...((await answer.json()) as T[]));
    onPage?.(rows);
    cursor = answer.headers.get('X-Next-Cursor') ?? undefined;
  } while (cursor !== undefined && rows.length < most);
  return { rows, isCut: cursor !== undefined };
}
