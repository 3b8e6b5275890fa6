// Requests to the agent. The parts of a session (exec, files, …) are written against this. The requests concern the entire
// sandbox, or one tenant of a pool (user.ts).
import type { ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { tooLate } from './fault.ts';
import { Keepalive, PONG_MS } from './keepalive.ts';
import { KIND, METHOD, TYPE } from './protocol.ts';
import type { StreamRequest } from './request.ts';
import type { AgentStream } from './stream.ts';
import { type WireReader, WireWriter } from './wire.ts';

const CALL_MS = 30_000;

export interface CallOptions {
  args?: () => WireWriter;
  deadlineMs?: number;
  words?: StreamRequest<unknown>['words'];
  signal?: AbortSignal | undefined;
}

/** Sends a request. Never throws: a stream that cannot be opened has failed. */
export type SendRequest = <T>(request: StreamRequest<T>, signal?: AbortSignal) => AgentStream<T>;

export interface RequestsDeps {
  clock: Clock;
  send: SendRequest;
  /** Ends the session because the agent broke the protocol. Returns the error for the caller. */
  fault(error: unknown): ServiceError;
  /** The bytes received from the agent so far. */
  bytesReceived(): number;
  /** Called when the agent does not answer pings. */
  onSilent?: (() => void) | undefined;
}

export class Requests {
  readonly clock: Clock;
  readonly send: SendRequest;
  readonly fault: RequestsDeps['fault'];
  readonly bytesReceived: RequestsDeps['bytesReceived'];
  readonly #keepalive: Keepalive;

  constructor({ clock, send, fault, bytesReceived, onSilent }: RequestsDeps) {
    this.clock = clock;
    this.send = send;
    this.fault = fault;
    this.bytesReceived = bytesReceived;
    const ping = () => this.call('ping', readPong, { deadlineMs: PONG_MS });
    this.#keepalive = new Keepalive({ clock, ping, bytesReceived, onSilent });
  }

  /** Opens a stream of one kind. */
  open<T>(
    kind: keyof typeof KIND,
    request: Omit<StreamRequest<T>, 'type' | 'code'>,
    signal?: AbortSignal,
  ): AgentStream<T> {
    return this.send({ ...request, type: TYPE.OPEN, code: KIND[kind] }, signal);
  }

  /** Sends a request and returns its answer, within 30 s by default. A longer deadline also ends when the agent stops answering. */
  call<T>(
    method: keyof typeof METHOD,
    decode: (reader: WireReader) => T,
    options: CallOptions = {},
  ): Promise<T> {
    const { args = () => new WireWriter(), words = {}, deadlineMs = CALL_MS, signal } = options;
    const stream = this.send({ type: TYPE.CALL, code: METHOD[method], args, words, decode }, signal);
    stream.after(deadlineMs, this.clock, () => {
      stream.cancel(tooLate(method));
      this.#keepalive.doubt();
    });
    if (deadlineMs > CALL_MS) this.keepAlive(stream, method);
    return stream.result;
  }

  /** Ends a stream that may be silent for long when the agent answers nothing for 30 s. */
  keepAlive<T>(stream: AgentStream<T>, what: string): void {
    this.#keepalive.watch(stream, what);
  }
}

/** Reads the answer to a ping: uptime and number of execs. Nobody needs them; reading all of it detects a wrong answer. */
export function readPong(reader: WireReader): void {
  reader.u64();
  reader.u32();
}
