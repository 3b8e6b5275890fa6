// The engine's HTTP interface. Every call has a deadline and every answer a bound; control calls share a few kept
// connections, and what lasts (an attach, events, a pull) has one of its own, so that it never makes a call wait.
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '../../domain/ports.ts';
import type { ContainerConfig } from '../../schema/config.ts';
import { withinDeadline } from '../deadline.ts';
import { type Endpoint, resolveEndpoint } from './endpoint.ts';
import { EngineRefusal, engineGarbled, engineLost, engineSlow } from './engine-faults.ts';

const CALL_MS = 10_000;
const MAX_ANSWER = 4 * 1024 * 1024;
const MAX_WORDS = 2048;
const CONNECTIONS = 64;

export interface EngineOrder {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** With its query. */
  path: string;
  /** An object is sent as JSON, bytes as a tar. */
  body?: object | Buffer;
  /** For "did not … within": `create a container`. */
  what: string;
  /** 10 s unless given. */
  ms?: number;
  /** 4 MiB unless given. */
  maxBytes?: number;
}

export interface Engine {
  /** The whole answer. Rejects with EngineRefusal for a status of 400 or more, `unavailable` when it was lost. */
  bytes(order: EngineOrder, signal: AbortSignal): Promise<Buffer>;
  /** As `bytes`, parsed; undefined for an empty answer. The shape is the caller's to check. */
  json(order: EngineOrder, signal: AbortSignal): Promise<unknown>;
  /** An answer to be read as it comes; the deadline is for its head. The caller destroys it. */
  stream(order: EngineOrder, signal: AbortSignal): Promise<IncomingMessage>;
  /** The raw connection behind a 101. The caller destroys it; `signal` has no meaning once it is there. */
  upgrade(order: EngineOrder, signal: AbortSignal): Promise<Socket>;
  /** Where it is, for the log and the probe. */
  label(): Promise<string>;
  close(): void;
}

export function openEngine({ config, clock }: { config: ContainerConfig; clock: Clock }): Engine {
  const line = new Line(config);
  const timed = <T>(
    { what, ms = CALL_MS }: EngineOrder,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    late?: (value: T) => void,
  ) => withinDeadline(clock, { ms, expired: engineSlow(what, ms), signal }, work, late);
  const bytes = (order: EngineOrder, signal: AbortSignal) =>
    timed(order, signal, async (inner) => whole(order, await line.answer(order, inner, 'shared'), line));
  return {
    bytes,
    json: async (order, signal) => parsed(order.what, await bytes(order, signal)),
    stream: (order, signal) =>
      timed(
        order,
        signal,
        async (inner) => accepted(order, await line.answer(order, inner, 'own'), line),
        (answer) => answer.destroy(),
      ),
    upgrade: (order, signal) =>
      timed(
        order,
        signal,
        (inner) => line.socket(order, inner),
        (socket) => socket.destroy(),
      ),
    label: async () => (await line.endpoint()).label,
    close: () => line.close(),
  };
}

type Connection = 'shared' | 'own';

/** Requests to one endpoint. Its files are read on first use, and again after a failure. */
class Line {
  readonly #config: ContainerConfig;
  readonly #agents: { http: http.Agent; https: https.Agent };
  #endpoint: Promise<Endpoint> | undefined;

  constructor(config: ContainerConfig) {
    const options = { keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: 8 };
    this.#config = config;
    this.#agents = { http: new http.Agent(options), https: new https.Agent(options) };
  }

  endpoint(): Promise<Endpoint> {
    this.#endpoint ??= resolveEndpoint(this.#config).catch((error: unknown) => {
      this.#endpoint = undefined;
      throw error;
    });
    return this.#endpoint;
  }

  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  async lost(cause: unknown): Promise<Error> {
    return engineLost((await this.endpoint()).label, cause);
  }

  /** The head of the answer. `signal` ends the request and what is left of its answer. */
  async answer(order: EngineOrder, signal: AbortSignal, connection: Connection): Promise<IncomingMessage> {
    const endpoint = await this.endpoint();
    for (let isRetry = false; ; isRetry = true) {
      const request = this.#request(endpoint, order, { connection, signal });
      try {
        return await headOf(request);
      } catch (error) {
        signal.throwIfAborted();
        // The engine closed a kept connection while we took it: it has not seen the request.
        const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
        if (!isStale || isRetry || order.method === 'POST') throw engineLost(endpoint.label, error);
      }
    }
  }

  async socket(order: EngineOrder, signal: AbortSignal): Promise<Socket> {
    const endpoint = await this.endpoint();
    const request = this.#request(endpoint, order, { connection: 'own', upgrade: true });
    const abort = () => request.destroy(new Error('aborted'));
    signal.addEventListener('abort', abort, { once: true });
    try {
      if (signal.aborted) abort();
      const outcome = await upgraded(request);
      if ('socket' in outcome) return outcome.socket;
      // A status below 400 in the place of a 101 gives no way to write.
      await accepted(order, outcome.answer, this);
      outcome.answer.destroy();
      throw engineGarbled(`${order.what}: status ${outcome.answer.statusCode} in place of 101`, undefined);
    } catch (error) {
      signal.throwIfAborted();
      throw isOurs(error) ? error : engineLost(endpoint.label, error);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #request(
    { secure, options }: Endpoint,
    { method, path, body }: EngineOrder,
    how: { connection: Connection; upgrade?: boolean; signal?: AbortSignal },
  ): ClientRequest {
    const payload = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    const shared = secure ? this.#agents.https : this.#agents.http;
    const request = (secure ? https : http).request({
      ...options,
      method,
      path,
      agent: how.connection === 'shared' ? shared : false,
      ...(how.signal && { signal: how.signal }),
      headers: {
        // A name that every engine takes; the address may be a socket.
        Host: 'engine',
        ...(how.upgrade && { Connection: 'Upgrade', Upgrade: 'tcp' }),
        ...(payload && { 'Content-Type': Buffer.isBuffer(body) ? 'application/x-tar' : 'application/json' }),
        'Content-Length': payload?.length ?? 0,
      },
    });
    request.end(payload);
    return request;
  }
}

function headOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
    request.once('upgrade', (_answer, socket) => {
      socket.destroy();
      reject(new Error('an upgrade nobody asked for'));
    });
  });
}

function upgraded(request: ClientRequest): Promise<{ socket: Socket } | { answer: IncomingMessage }> {
  return new Promise((resolve, reject) => {
    request
      .once('upgrade', (_answer, socket: Socket, head: Buffer) => {
        if (head.length > 0) socket.unshift(head);
        resolve({ socket });
      })
      .once('response', (answer) => resolve({ answer }))
      .once('error', reject);
  });
}

async function accepted(order: EngineOrder, answer: IncomingMessage, line: Line): Promise<IncomingMessage> {
  const status = answer.statusCode ?? 0;
  if (status < 400) return answer;
  const { bytes } = await gathered(answer, MAX_WORDS, line);
  throw new EngineRefusal(order.what, status, words(bytes));
}

async function whole(order: EngineOrder, answer: IncomingMessage, line: Line): Promise<Buffer> {
  const { bytes, isCut } = await gathered(
    await accepted(order, answer, line),
    order.maxBytes ?? MAX_ANSWER,
    line,
  );
  if (isCut) throw engineGarbled(`${order.what}: the answer is too long`, undefined);
  return bytes;
}

/** At most `max` bytes; the rest is not waited for, and its connection is given up. */
async function gathered(
  answer: IncomingMessage,
  max: number,
  line: Line,
): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > max) return { bytes: Buffer.concat(chunks).subarray(0, max), isCut: true };
    }
  } catch (error) {
    throw await line.lost(error);
  }
  return { bytes: Buffer.concat(chunks), isCut: false };
}

function parsed(what: string, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw engineGarbled(`${what}: not JSON`, error);
  }
}

function words(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  try {
    const { message, cause } = JSON.parse(text) as { message?: unknown; cause?: unknown };
    return `${message ?? cause ?? text}`;
  } catch {
    return text;
  }
}

function isOurs(error: unknown): boolean {
  return error instanceof EngineRefusal || (error instanceof Error && error.name === 'ServiceError');
}
