// What the parts of a session (exec, files, ...) are written against: asking the agent something. Its end, for
// whatever reason, is here and nowhere else.
import type { Duplex } from 'node:stream';
import type { ServiceError } from '../domain/errors.ts';
import type { Clock, Logger } from '../domain/ports.ts';
import { AgentFault, sandboxLost } from './fault.ts';
import { FrameParser } from './frame.ts';
import { Link } from './link.ts';
import type { StreamPlan } from './plan.ts';
import { KIND, METHOD, TYPE } from './protocol.ts';
import type { AgentStream } from './stream.ts';
import { Streams } from './streams.ts';
import { type WireReader, WireWriter } from './wire.ts';

const CALL_MS = 30_000;

export interface ConversationDeps {
  stream: Duplex;
  clock: Clock;
  logger: Logger;
}

export interface CallOptions {
  args?: () => WireWriter;
  deadlineMs?: number;
  words?: StreamPlan<unknown>['words'];
  signal?: AbortSignal | undefined;
}

export class Conversation {
  readonly clock: Clock;
  /** Resolves once, when it is over. */
  readonly closed: Promise<void>;
  readonly #stream: Duplex;
  readonly #logger: Logger;
  readonly #link: Link;
  readonly #streams: Streams;
  #close!: () => void;
  #isOver = false;

  constructor(deps: ConversationDeps, tag: number, rest: Buffer) {
    const { stream } = deps;
    this.clock = deps.clock;
    this.#stream = stream;
    this.#logger = deps.logger;
    this.#link = new Link(stream, tag, () => this.fault(new AgentFault('the agent does not read')));
    this.#streams = new Streams(this.#link);
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
    this.#listen(
      new FrameParser(tag, (type, id, payload) => this.#streams.dispatch(type, id, payload)),
      rest,
    );
  }

  /** Opens a stream of one kind. Never throws: a stream that cannot be opened has failed. */
  open<T>(
    kind: keyof typeof KIND,
    plan: Omit<StreamPlan<T>, 'type' | 'code'>,
    signal?: AbortSignal,
  ): AgentStream<T> {
    return this.#streams.open({ ...plan, type: TYPE.OPEN, code: KIND[kind] }, signal);
  }

  /** One request and its answer, within 30 s unless told otherwise. */
  call<T>(
    method: keyof typeof METHOD,
    decode: (reader: WireReader) => T,
    options: CallOptions = {},
  ): Promise<T> {
    const { args = () => new WireWriter(), words = {}, deadlineMs = CALL_MS, signal } = options;
    const stream = this.#streams.open({ type: TYPE.CALL, code: METHOD[method], args, words, decode }, signal);
    stream.within(deadlineMs, this.clock, method);
    return stream.result;
  }

  /** The agent broke the protocol: ends the session. The answer is what to tell the caller. */
  fault(error: unknown): ServiceError {
    return this.#end(error);
  }

  /** Ends the session from our side. Safe twice. */
  close(): void {
    this.#end(undefined);
  }

  #listen(parser: FrameParser, rest: Buffer): void {
    const take = (chunk: Buffer) => {
      try {
        if (!this.#isOver) parser.push(chunk);
      } catch (error) {
        this.fault(error);
      }
    };
    const lost = () => this.#end(new Error('the stream ended'));
    this.#stream
      .on('end', lost)
      .on('close', lost)
      .on('error', (error) => this.#end(error));
    if (this.#stream.destroyed || this.#stream.readableEnded) return void lost();
    if (rest.length > 0) take(rest);
    this.#stream.on('data', take).resume();
  }

  #end(cause: unknown): ServiceError {
    const error = sandboxLost(cause);
    if (this.#isOver) return error;
    this.#isOver = true;
    if (cause) this.#logger.warn({ err: cause }, 'agent session lost');
    this.#link.close();
    this.#stream.destroy();
    this.#streams.endAll(error);
    this.#close();
    return error;
  }
}
