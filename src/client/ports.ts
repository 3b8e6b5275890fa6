// HTTP to a port of a sandbox, through the server and by a header: no name has to be resolved, and no preview domain set.
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { ServiceError } from '../domain/errors.ts';
import { FAILED_HEADER, PORT_HEADER } from '../domain/preview.ts';
import { realClock } from '../host/clock.ts';
import { type CallTerms, type Connection, failureFrom } from './call.ts';
import { type Address, transportFailure } from './failures.ts';
import { retried } from './retry.ts';

export interface PortRequest extends CallTerms {
  /** GET unless given. */
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | Readable;
}

export interface Port {
  /** The sandbox. */
  id: string;
  port: number;
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);
/** As the program in the sandbox has at most, twice over. */
const ANSWER_MS = 150_000;
const WAIT_MS = 60_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const EMPTY = new Set([204, 205, 304]);

/**
 * The answer of the program, whatever its status; redirects are not followed. Rejects with the server's error when it did not
 * reach the program: `unavailable` with the status 502 when nothing listens.
 */
export function fetchPort(
  connection: Connection,
  target: Port,
  path: string,
  request: PortRequest = {},
): Promise<Response> {
  const { method = 'GET', body, signal } = request;
  const isOnce = body instanceof Readable;
  const attempt = () => fetchOnce(connection, target, path, request);
  return retried(isOnce ? undefined : connection.retry, { isSafe: SAFE.has(method), signal }, attempt);
}

async function fetchOnce(
  connection: Connection,
  { id, port }: Port,
  path: string,
  { method = 'GET', headers, body, signal, timeoutMs = ANSWER_MS }: PortRequest,
): Promise<Response> {
  const { origin, from, dispatcher } = connection;
  let answer: Awaited<ReturnType<typeof requestTo>>;
  try {
    answer = await requestTo(dispatcher, {
      origin,
      method,
      body: body ?? null,
      signal: signal ?? null,
      opaque: { origin, from },
      path: path.startsWith('/') ? path : `/${path}`,
      headers: { ...headers, ...connection.headers, [PORT_HEADER]: `${port}-${id}` },
      headersTimeout: timeoutMs,
    });
  } catch (error) {
    throw transportFailure(error, connection, signal);
  }
  if (answer.headers[FAILED_HEADER] !== undefined) throw await failureFrom(answer);
  return responseOf(answer);
}

const requestTo = (dispatcher: Dispatcher, options: object) =>
  dispatcher.request(options as Dispatcher.RequestOptions<Address>);

function responseOf({ statusCode, headers, body, opaque }: Dispatcher.ResponseData<Address>): Response {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) all.append(name, one);
  const isEmpty = EMPTY.has(statusCode);
  if (isEmpty) body.destroy();
  return new Response(isEmpty ? null : webStream(body, opaque), { status: statusCode, headers: all });
}

/** Not by `Readable.toWeb`, which throws outside of any call when a stream ends while it is cancelled. */
function webStream(body: Readable, address: Address): ReadableStream<Uint8Array> {
  const parts: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
  // The reader gets the error of the iterator.
  body.on('error', () => undefined);
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(new Uint8Array(value));
      } catch (error) {
        throw transportFailure(error, address);
      }
    },
    cancel: () => void body.destroy(),
  });
}

/** Resolves when a program answers HTTP on the port. Rejects with `timeout` after `timeoutMs`, 60 s unless given. */
export async function waitForPort(
  connection: Connection,
  target: Port,
  { signal, timeoutMs = WAIT_MS }: CallTerms = {},
): Promise<void> {
  const clock = realClock();
  const end = clock.monotonic() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const left = Math.max(1, end - clock.monotonic());
    try {
      const answer = await fetchPort(connection, target, '/', { signal, timeoutMs: left });
      return await answer.body?.cancel();
    } catch (error) {
      if (!(error instanceof ServiceError) || !mayOpen(error)) throw error;
      if (clock.monotonic() + pause >= end)
        throw new ServiceError('timeout', `Nothing answers on port ${target.port} of the sandbox.`, {
          cause: error,
          remedy: 'Check that the program runs and listens on this port.',
        });
    }
    await clock.sleep(pause, signal);
  }
}

/** The program may not listen yet, or still be starting. */
const mayOpen = ({ status, code }: ServiceError) => status === 502 || status === 504 || code === 'timeout';
