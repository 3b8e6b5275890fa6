// Asking the agent something: what the parts of a session (exec, files, …) are written against. A talk is with the whole
// sandbox, or with one tenant of a pool (user.ts).
import type { ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { Attention, PONG_MS } from './attention.ts';
import type { StreamPlan } from './plan.ts';
import { readPong } from './pong.ts';
import { KIND, METHOD, TYPE } from './protocol.ts';
import type { AgentStream } from './stream.ts';
import { type WireReader, WireWriter } from './wire.ts';

const CALL_MS = 30_000;

export interface CallOptions {
  args?: () => WireWriter;
  deadlineMs?: number;
  words?: StreamPlan<unknown>['words'];
  signal?: AbortSignal | undefined;
}

/** Sends a plan. Never throws: a stream that cannot be opened has failed. */
export type Begin = <T>(plan: StreamPlan<T>, signal?: AbortSignal) => AgentStream<T>;

export interface TalkDeps {
  clock: Clock;
  begin: Begin;
  /** The agent broke the protocol: ends the session. The answer is what to tell the caller. */
  fault(error: unknown): ServiceError;
  /** How much has come from the agent: any number that grows with it. */
  heard(): number;
}

export class Talk {
  readonly clock: Clock;
  readonly begin: Begin;
  readonly fault: TalkDeps['fault'];
  readonly heard: TalkDeps['heard'];
  readonly #attention: Attention;

  constructor({ clock, begin, fault, heard }: TalkDeps) {
    this.clock = clock;
    this.begin = begin;
    this.fault = fault;
    this.heard = heard;
    const ping = () => this.call('ping', readPong, { deadlineMs: PONG_MS });
    this.#attention = new Attention(clock, ping, heard);
  }

  /** Opens a stream of one kind. */
  open<T>(
    kind: keyof typeof KIND,
    plan: Omit<StreamPlan<T>, 'type' | 'code'>,
    signal?: AbortSignal,
  ): AgentStream<T> {
    return this.begin({ ...plan, type: TYPE.OPEN, code: KIND[kind] }, signal);
  }

  /** One request and its answer, within 30 s unless told otherwise; when that is longer, as long as the agent lives. */
  call<T>(
    method: keyof typeof METHOD,
    decode: (reader: WireReader) => T,
    options: CallOptions = {},
  ): Promise<T> {
    const { args = () => new WireWriter(), words = {}, deadlineMs = CALL_MS, signal } = options;
    const stream = this.begin({ type: TYPE.CALL, code: METHOD[method], args, words, decode }, signal);
    stream.within(deadlineMs, this.clock, method);
    if (deadlineMs > CALL_MS) this.attend(stream, method);
    return stream.result;
  }

  /** For what may rightly say nothing for long: ends the stream when the agent answers nothing for 30 s. */
  attend<T>(stream: AgentStream<T>, what: string): void {
    this.#attention.add(stream, what);
  }
}
