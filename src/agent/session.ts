// A session with the guest agent on one duplex byte stream. Every end of a session passes through `#end`.
import type { Duplex } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import type { Logger } from '../domain/ports.ts';
import { accountIo } from './account.ts';
import { dialHost } from './dial.ts';
import { AgentFault, sandboxLost } from './fault.ts';
import { FrameParser } from './frame.ts';
import { FrameWriter } from './frame-writer.ts';
import { sandboxGate } from './gate.ts';
import { guestUsage } from './guest-usage.ts';
import { type HandshakeDeps, type OpenedWire, openWire } from './handshake.ts';
import type { AgentIo } from './io.ts';
import { CAPABILITY } from './protocol.ts';
import { Relay } from './relay.ts';
import { Requests } from './requests.ts';
import { sandboxIo } from './sandbox-io.ts';
import { seedGuest } from './seed.ts';
import { Streams } from './streams.ts';
import { userIo } from './user.ts';

export interface SessionDeps extends HandshakeDeps {
  logger: Logger;
}

/**
 * Opens a session; the agent ends the previous one. The session owns the stream and destroys it at its end. Rejects with
 * `unavailable` when the agent does not answer within 6 s, or with the signal's reason; `signal` has no effect afterwards.
 */
export async function openSession(deps: SessionDeps, signal?: AbortSignal): Promise<AgentIo> {
  const wire = await openWire(deps, signal);
  deps.logger.debug({ build: wire.build }, 'Agent session opened.');
  const session = new Session(deps, wire);
  const { requests, closed } = session;
  const { capabilities } = wire;
  return {
    ...sandboxIo(requests, capabilities),
    ...(capabilities & CAPABILITY.usage && { usage: (signal) => guestUsage(requests, signal) }),
    ...(capabilities & CAPABILITY.accounts && {
      asAccount: (name) => accountIo(requests, name, capabilities),
    }),
    as: (user) => userIo(requests, user, { closed, capabilities }),
    ...(capabilities & CAPABILITY.gate && { gate: sandboxGate(requests, capabilities) }),
    ...(capabilities & CAPABILITY.dial && { dial: (nonce, signal) => dialHost(requests, nonce, signal) }),
    seed: (order, signal) => seedGuest(requests, order, signal),
    shutdown: async (signal) => {
      await requests.call('shutdown', () => undefined, { signal });
      session.close();
    },
    relay: (stream, draining) => session.relay.serve(stream, draining),
    close: () => session.close(),
    closed,
  };
}

export class Session {
  /** Requests that concern the entire sandbox. */
  readonly requests: Requests;
  /** Further hosts on this session. */
  readonly relay: Relay;
  /** Resolves when the session has ended. */
  readonly closed: Promise<void>;
  readonly #stream: Duplex;
  readonly #logger: Logger;
  readonly #on: string | undefined;
  readonly #frames: FrameWriter;
  readonly #streams: Streams;
  #close!: () => void;
  #isOver = false;
  #bytesReceived = 0;

  constructor(deps: Pick<SessionDeps, 'stream' | 'clock' | 'logger' | 'secret' | 'on'>, wire: OpenedWire) {
    const { stream, clock, logger } = deps;
    const { tag, rest } = wire;
    this.#stream = stream;
    this.#logger = deps.logger;
    this.#on = deps.on;
    this.#frames = new FrameWriter(stream, tag, () => this.fault(new AgentFault('the agent does not read')));
    this.#streams = new Streams(this.#frames);
    this.requests = new Requests({
      clock: deps.clock,
      send: (request, signal) => this.#streams.open(request, signal),
      fault: (error) => this.fault(error),
      bytesReceived: () => this.#bytesReceived,
      // A link may be lost without a word, behind a firewall that forgot it for example: the next call opens another.
      onSilent: deps.secret ? undefined : () => void this.fault(new AgentFault('two pings got no answer')),
    });
    const { version, build, boot, capabilities } = wire;
    // Without the bytes behind the answer, which would stay in memory as long as the session.
    const welcome = { version, build, boot, capabilities };
    this.relay = new Relay({ welcome, streams: this.#streams, frames: this.#frames, clock, logger });
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
    this.#listen(
      new FrameParser(tag, (type, id, payload) => this.#streams.dispatch(type, id, payload)),
      rest,
    );
  }

  /** Ends the session because the agent broke the protocol. Returns the error for the caller. */
  fault(error: unknown): ServiceError {
    return this.#end(error);
  }

  /** Ends the session from our side. Idempotent. */
  close(): void {
    this.#end(undefined);
  }

  #listen(parser: FrameParser, rest: Buffer): void {
    const take = (chunk: Buffer) => {
      this.#bytesReceived += chunk.length;
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
    const error = cause instanceof ServiceError ? cause : sandboxLost(cause, this.#on);
    if (this.#isOver) return error;
    this.#isOver = true;
    if (cause) this.#logger.warn({ err: cause }, 'Agent session lost; closing its streams.');
    this.#frames.close();
    this.#stream.destroy();
    this.#streams.endAll(error);
    this.relay.end();
    this.#close();
    return error;
  }
}
