// RPCs of the data plane: Connect with JSON, unary and as streams of frames.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../../control/api/caller.ts';
import type { Hold } from '../../../domain/byte-ledger.ts';
import type { Clock } from '../../../domain/ports.ts';
import type { Fields } from '../read-body.ts';
import { RpcFailure } from './failure.ts';
import { lastFrame, messageFrame } from './frames.ts';

export const STREAM_TYPE = 'application/connect+json';
const DEFAULT_KEEPALIVE_S = 90;

/** One call of a client that holds the token of the sandbox. */
export interface RpcCall {
  sandbox_id: string;
  caller: Caller;
  request_id: string;
  headers: IncomingMessage['headers'];
  /** The user that the client names; empty is the default one. */
  user: string;
  /** Aborts when the client has disconnected. */
  signal: AbortSignal;
  hold: Hold;
}

export type Unary = (call: RpcCall, message: Fields) => Promise<object>;
/** Writes messages until it resolves; then the last frame follows. */
export type ServerStream = (call: RpcCall, message: Fields, out: MessageStream) => Promise<void>;
/** Reads messages, and answers with one. */
export type ClientStream = (call: RpcCall, messages: AsyncIterable<Fields>) => Promise<object>;

/** The answer of a stream. */
export interface MessageStream {
  /** Resolves when the client may be sent more, or has left. */
  write(message: object): Promise<void>;
  readonly isOpen: boolean;
  /** Cuts the connection: the client then asks whether the sandbox still lives. */
  cut(): void;
}

/** `Connect-Timeout-Ms`; 0 where there is none. Throws `invalid_argument`. */
export function timeoutOf(headers: IncomingMessage['headers']): number {
  const text = headers['connect-timeout-ms'];
  if (text === undefined) return 0;
  if (typeof text !== 'string' || !/^\d{1,10}$/.test(text))
    throw new RpcFailure('invalid_argument', 'Connect-Timeout-Ms must be a whole number.');
  return Number(text);
}

/** The answer to a stream. Its head leaves with the first message; failures come in its last frame. */
export function openStream(
  response: ServerResponse,
  { headers, clock, ping }: { headers: IncomingMessage['headers']; clock: Clock; ping: object },
) {
  response.writeHead(200, { 'Content-Type': STREAM_TYPE, 'Cache-Control': 'no-store' });
  const write = async (bytes: Buffer) => {
    if (response.destroyed || response.writableEnded) return;
    lastWrite = clock.monotonic();
    if (!response.write(bytes)) await drained(response);
  };
  let lastWrite = clock.monotonic();
  const stopPings = keepAlive({ headers, clock, response, since: () => lastWrite }, () =>
    write(messageFrame(ping)),
  );
  response.once('close', stopPings);
  const stream: MessageStream = {
    write: (message) => write(messageFrame(message)),
    get isOpen() {
      return !response.destroyed && !response.writableEnded;
    },
    cut: () => void response.destroy(),
  };
  const end = (failure?: RpcFailure) => {
    stopPings();
    if (!stream.isOpen) return;
    response.end(lastFrame(failure ? { error: { code: failure.code, message: failure.message } } : {}));
  };
  return { stream, end };
}

interface Pinged {
  headers: IncomingMessage['headers'];
  clock: Clock;
  response: ServerResponse;
  since(): number;
}

/** Pings after as many seconds of silence as the client asks for. Returns a function that stops it. */
function keepAlive({ headers, clock, response, since }: Pinged, ping: () => Promise<void>): () => void {
  const asked = Number(headers['keepalive-ping-interval']);
  const everyMs = (asked >= 1 && asked <= 3600 ? asked : DEFAULT_KEEPALIVE_S) * 1000;
  const look = () => {
    const left = since() + everyMs - clock.monotonic();
    // A client that does not read needs no pings.
    if (left <= 0 && response.writableLength === 0) void ping();
    timer = clock.after(left > 0 ? left : everyMs, look);
  };
  let timer = clock.after(everyMs, look);
  return () => timer.cancel();
}

/** Resolves when the client may be sent more, or has left. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });
}
