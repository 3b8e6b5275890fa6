// The client side of a WebSocket exec, with backpressure for input and output.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import WebSocket, { type RawData } from 'ws';
import { ServiceError } from '../domain/errors.ts';
import { API_PREFIX } from '../http/paths.ts';
import { VERSION_PROTOCOL } from '../http/socket/socket-protocol.ts';
import type { SocketAnswer, SocketAttach, SocketStart } from '../schema/exec-socket.ts';
import type { CallTerms, Connection } from './call.ts';
import { type Address, answerFailure, transportFailure } from './failures.ts';
import { retried } from './retry.ts';

const HANDSHAKE_MS = 30_000;
const WAITING_BYTES = 256 * 1024;
const MAX_ERROR_BYTES = 1024 * 1024;

export type ExecEvent =
  | Extract<SocketAnswer, { type: 'started' }>
  | { type: 'stdout' | 'stderr'; data: Buffer }
  | Extract<SocketAnswer, { type: 'exit' }>;

/** The request; output always arrives as bytes. */
export type SocketRequest = Omit<SocketStart, 'type' | 'binary' | 'encoding'>;

/** Which command is followed again, and the size of the terminal. */
export type AttachRequest = Omit<SocketAttach, 'type' | 'binary' | 'encoding'>;

interface Opening {
  id: string;
  request: (SocketRequest & { type: 'start' }) | (AttachRequest & { type: 'attach' });
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

export class ExecSocket {
  readonly #ws: WebSocket;
  readonly #address: Address;
  readonly #events: ExecEvent[] = [];
  #bytes = 0;
  #failure: unknown;
  #isOver = false;
  #requestId: string | undefined;
  #wake: () => void = () => undefined;

  /** Resolves when the socket is open and the request is sent. Rejects like any call. An abort closes the socket. */
  static open(
    connection: Connection,
    id: string,
    request: Opening['request'],
    { signal, timeoutMs = HANDSHAKE_MS }: CallTerms = {},
  ): Promise<ExecSocket> {
    const open = () => ExecSocket.#open(connection, { id, request, timeoutMs, signal });
    return retried(connection.retry, { isSafe: false, signal }, open);
  }

  static async #open(
    connection: Connection,
    { id, request, timeoutMs, signal }: Opening,
  ): Promise<ExecSocket> {
    signal?.throwIfAborted();
    const url = `${connection.origin.replace(/^http/, 'ws')}${API_PREFIX}/sandboxes/${encodeURIComponent(id)}/exec/ws`;
    const ws = new WebSocket(url, VERSION_PROTOCOL, {
      headers: connection.headers,
      handshakeTimeout: timeoutMs,
      perMessageDeflate: false,
      followRedirects: false,
    });
    const socket = new ExecSocket(ws, connection);
    const abort = () => ws.terminate();
    signal?.addEventListener('abort', abort, { once: true });
    ws.once('close', () => signal?.removeEventListener('abort', abort));
    try {
      await opened(ws, connection);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
    ws.send(JSON.stringify({ ...request, binary: true }));
    return socket;
  }

  private constructor(ws: WebSocket, address: Address) {
    this.#ws = ws;
    this.#address = address;
    ws.on('message', (data: RawData, isBinary) => this.#receive(data as Buffer, isBinary));
    ws.once('upgrade', ({ headers }: IncomingMessage) => {
      const id = headers['x-request-id'];
      if (typeof id === 'string') this.#requestId = id;
    });
    ws.on('error', (error) => this.#end(transportFailure(error, address)));
    ws.once('close', () => this.#end(lost(address)));
  }

  /** The server's name for this call, for its logs. */
  get requestId(): string | undefined {
    return this.#requestId;
  }

  /** Writes raw standard input. Resolves when there is room for more. */
  async write(data: string | Uint8Array): Promise<void> {
    if (this.#ws.readyState !== WebSocket.OPEN || data.length === 0) return;
    const sent = new Promise<void>((resolve) =>
      this.#ws.send(typeof data === 'string' ? Buffer.from(data) : data, () => resolve()),
    );
    if (this.#ws.bufferedAmount > WAITING_BYTES) await sent;
  }

  /** Closes standard input. */
  end(): void {
    this.#send({ type: 'stdin_close' });
  }

  /** Resizes the terminal. The older form takes two numbers, rows first. */
  resize(size: { cols: number; rows: number }): void;
  resize(rows: number, cols: number): void;
  resize(size: number | { cols: number; rows: number }, cols = 0): void {
    this.#send({ type: 'resize', ...(typeof size === 'number' ? { rows: size, cols } : size) });
  }

  /** Sends a signal by name. */
  signal(name: string): void {
    this.#send({ type: 'signal', signal: name });
  }

  /** Kills the command unless it is detached or kept. */
  close(): void {
    this.#ws.terminate();
  }

  /** For one reader; ends with the exit event. Throws the server's error, or `unavailable` when the connection is lost. */
  async *events(): AsyncGenerator<ExecEvent> {
    for (;;) {
      const event = this.#events.shift();
      if (event) {
        this.#count(event, -1);
        yield event;
        if (event.type === 'exit') return;
      } else if (this.#isOver) throw this.#failure;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const event = isBinary ? outputFrom(data) : this.#parse(data);
    if (!event) return;
    this.#events.push(event);
    this.#count(event, 1);
    this.#wake();
  }

  #parse(data: Buffer): ExecEvent | undefined {
    try {
      const text = data.toString('utf8');
      const answer = JSON.parse(text) as SocketAnswer;
      if (answer.type === 'error')
        this.#end(answerFailure(text, this.#address, { requestId: this.#requestId }));
      else if (answer.type === 'started' || answer.type === 'exit') return answer;
    } catch (cause) {
      this.#end(new ServiceError('internal', 'A message of the server is not JSON.', { cause }));
    }
    return undefined;
  }

  #count(event: ExecEvent, sign: 1 | -1): void {
    if (!('data' in event)) return;
    this.#bytes += sign * event.data.length;
    if (this.#bytes >= WAITING_BYTES) this.#ws.pause();
    else if (this.#ws.isPaused) this.#ws.resume();
  }

  #end(failure: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    this.#wake();
  }

  #send(message: object): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.send(JSON.stringify(message));
  }
}

function outputFrom(data: Buffer): ExecEvent | undefined {
  const type = data[0] === 1 ? 'stdout' : data[0] === 2 ? 'stderr' : undefined;
  return type && { type, data: data.subarray(1) };
}

async function opened(ws: WebSocket, address: Address): Promise<void> {
  const refusal = once(ws, 'unexpected-response').then(async ([, response]) => {
    throw await refused(response as IncomingMessage, address);
  });
  const broken = once(ws, 'close').then(() => {
    throw lost(address);
  });
  try {
    await Promise.race([once(ws, 'open'), refusal, broken]);
  } catch (error) {
    ws.terminate();
    throw error instanceof ServiceError ? error : transportFailure(error, address);
  } finally {
    refusal.catch(() => undefined);
    broken.catch(() => undefined);
  }
}

async function refused(response: IncomingMessage, address: Address): Promise<ServiceError> {
  const parts: Buffer[] = [];
  let size = 0;
  response.setTimeout(HANDSHAKE_MS, () => response.destroy());
  for await (const part of response) {
    size += (part as Buffer).length;
    if (size > MAX_ERROR_BYTES) break;
    parts.push(part as Buffer);
  }
  const retryAfter = Number(response.headers['retry-after']);
  const text = Buffer.concat(parts).toString('utf8');
  return answerFailure(text, address, { status: response.statusCode, retryAfter });
}

function lost({ origin }: Address): ServiceError {
  return new ServiceError('unavailable', `The connection to the server at ${origin} was lost.`, {
    remedy: 'The command is killed unless it is detached or kept. Check that the server is running.',
  });
}
