// One session on the wire: frames in and out of its streams. Its end, for whatever reason, is here and nowhere else.
import type { Duplex } from 'node:stream';
import type { ServiceError } from '../domain/errors.ts';
import type { Clock, Logger } from '../domain/ports.ts';
import { AgentFault, sandboxLost } from './fault.ts';
import { FrameParser } from './frame.ts';
import { Link } from './link.ts';
import { Streams } from './streams.ts';
import { Talk } from './talk.ts';

export interface ConversationDeps {
  stream: Duplex;
  clock: Clock;
  logger: Logger;
}

export class Conversation {
  /** With the whole sandbox. */
  readonly talk: Talk;
  /** Resolves once, when it is over. */
  readonly closed: Promise<void>;
  readonly #stream: Duplex;
  readonly #logger: Logger;
  readonly #link: Link;
  readonly #streams: Streams;
  #close!: () => void;
  #isOver = false;
  #heard = 0;

  constructor(deps: ConversationDeps, tag: number, rest: Buffer) {
    const { stream } = deps;
    this.#stream = stream;
    this.#logger = deps.logger;
    this.#link = new Link(stream, tag, () => this.fault(new AgentFault('the agent does not read')));
    this.#streams = new Streams(this.#link);
    this.talk = new Talk({
      clock: deps.clock,
      begin: (plan, signal) => this.#streams.open(plan, signal),
      fault: (error) => this.fault(error),
      heard: () => this.#heard,
    });
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
    this.#listen(
      new FrameParser(tag, (type, id, payload) => this.#streams.dispatch(type, id, payload)),
      rest,
    );
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
      this.#heard += chunk.length;
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
