// The results of a handler for which a plain body with the route's own status is not enough.
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

import type { WebSocket } from 'ws';
import type { Clock, Logger } from '../domain/ports.ts';
import type { SocketTools } from './socket/exec-socket.ts';

export interface AnswerParts {
  status?: number;
  headers?: Record<string, string>;
}

/** A body with another status or with headers of its own. */
export class Answer<T> {
  readonly body: T;
  readonly status: number | undefined;
  readonly headers: Record<string, string>;

  constructor(body: T, parts: AnswerParts = {}) {
    this.body = body;
    this.status = parts.status;
    this.headers = parts.headers ?? {};
  }
}

interface StreamParts {
  status?: number;
  sign?: string;
  farewell?: (message: string) => string;
}

/** A body that is sent as it comes; `headers` name its type. */
export class StreamAnswer {
  readonly stream: Readable;
  readonly status: number;
  readonly headers: Record<string, string>;
  /** What its readers skip, wherever it comes between two pieces; undefined: nothing is. */
  readonly sign: string | undefined;
  /** The last piece when the service ends the stream; undefined for a download, which the service does not end. */
  readonly farewell: ((message: string) => string) | undefined;

  constructor(
    stream: Readable,
    headers: Record<string, string>,
    { status = 200, sign, farewell }: StreamParts = {},
  ) {
    this.stream = stream;
    this.sign = sign;
    this.farewell = farewell;
    this.headers = headers;
    this.status = status;
  }
}

/** JSON that is written piece by piece, as the client takes it. */
export class PiecedAnswer {
  readonly pieces: Iterable<Buffer>;

  constructor(pieces: Iterable<Buffer>) {
    this.pieces = pieces;
  }
}

/** Text of another type than JSON, or JSON that is rendered already. */
export class TextAnswer {
  readonly text: string | Buffer;
  readonly type: string;
  readonly headers: Record<string, string>;

  constructor(text: string | Buffer, type: string, headers: Record<string, string> = {}) {
    this.text = text;
    this.type = type;
    this.headers = headers;
  }
}

export interface PushTools {
  clock: Clock;
  logger: Logger;
  /** Resolves when it is this answer's turn again. */
  pass(): Promise<void>;
}

/** An answer that never ends by itself: what is to be sent comes when it comes, and a stop of the server ends it. */
export class PushAnswer {
  readonly headers: Record<string, string>;
  /** Called once, when the head was written or the client has disconnected; `close` follows on the response. */
  readonly begin: (response: ServerResponse, tools: PushTools) => void;
  /** What its readers skip, wherever it comes between two pieces. */
  readonly sign: string;
  /** The last piece when the service ends it before its client does. */
  readonly farewell: (message: string) => string;

  constructor({ headers, sign, begin, farewell }: PushAnswer) {
    this.headers = headers;
    this.sign = sign;
    this.begin = begin;
    this.farewell = farewell;
  }
}

/** The connection becomes a WebSocket, and `serve` has it until it closes. */
export class SocketAnswer {
  readonly serve: (socket: WebSocket, tools: SocketTools) => void;

  constructor(serve: (socket: WebSocket, tools: SocketTools) => void) {
    this.serve = serve;
  }
}
