// One further host of a session (relay.ts). Everything that would end the session of all is checked here first, so a fault
// of this host ends its link alone. The limits of the agent are for all hosts together; each has three quarters of them.
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../domain/ports.ts';
import { ERRNO } from './errno.ts';
import { AgentFault } from './fault.ts';
import { FrameParser } from './frame.ts';
import { FrameWriter } from './frame-writer.ts';
import type { AgentFacts } from './handshake.ts';
import type { Hello } from './hello.ts';
import {
  ARGUMENTS_MAX,
  AS_ACCOUNT,
  CALLS_MAX,
  CAPABILITY,
  DATA_MAX,
  FOR_USER,
  KIND,
  METHOD,
  STREAMS_MAX,
  TYPE,
} from './protocol.ts';
import { Relayed } from './relayed.ts';
import type { Streams } from './streams.ts';
import { WireWriter } from './wire.ts';

const SHARE = 3 / 4;
/**
 * A host that disappeared: with streams open a host pings every 10 s (keepalive.ts), without any it closes its
 * link after 60 s (sessions.ts).
 */
const SILENT_MS = { withStreams: 45_000, without: 120_000 };
const LOOK_MS = 5000;
/** Arguments that wait for their OPEN or CALL. */
const PARTS_MAX = 2 * ARGUMENTS_MAX;
/** They concern the entire sandbox, which belongs to its worker. */
const WORKER_ONLY: Record<number, readonly number[]> = {
  [TYPE.CALL]: [METHOD.seed, METHOD.shutdown, METHOD.deadline, METHOD.gate, METHOD.trust, METHOD.dial],
  [TYPE.OPEN]: [KIND.accept],
};
const NOT_FOR_HOSTS = CAPABILITY.deadlines | CAPABILITY.gate | CAPABILITY.trust | CAPABILITY.dial;

export interface RelayLinkDeps {
  stream: Duplex;
  streams: Streams;
  /** Writes to the agent. */
  agent: FrameWriter;
  clock: Clock;
  /** Called after frames were sent to the agent. */
  onSent(): void;
}

interface Opening {
  hello: Hello;
  welcome: AgentFacts;
}

export class RelayLink {
  /** Resolves when the stream has ended; rejects when this host broke the protocol. */
  readonly ended: Promise<void>;
  readonly #deps: RelayLinkDeps;
  readonly #host: FrameWriter;
  readonly #relayed = new Map<number, Relayed>();
  readonly #parts = new Map<number, Buffer[]>();
  #partBytes = 0;
  #calls = 0;
  #end!: (fault?: unknown) => void;
  #isOver = false;
  #isDraining = false;
  #heardAt: number;
  #isDoubted = false;
  #timer: Timer | undefined;

  constructor(deps: RelayLinkDeps, { hello, welcome }: Opening) {
    this.#deps = deps;
    this.#heardAt = deps.clock.monotonic();
    this.#host = new FrameWriter(deps.stream, hello.tag, () =>
      this.#finish(new AgentFault('the host does not read')),
    );
    this.ended = new Promise((resolve, reject) => {
      this.#end = (fault) => (fault === undefined ? resolve() : reject(fault));
    });
    const { version, build, boot, capabilities } = welcome;
    const answer = new WireWriter().raw(hello.nonce).u8(version).str(build).u64(boot);
    this.#host.send(TYPE.WELCOME, 0, answer.u32(capabilities & ~NOT_FOR_HOSTS).bytes());
    const parser = new FrameParser(hello.tag, (type, id, payload) => this.#take(type, id, payload));
    this.#listen(parser, hello.rest);
  }

  #listen(parser: FrameParser, rest: Buffer): void {
    const { stream, onSent } = this.#deps;
    this.#watch();
    const take = (chunk: Buffer) => {
      this.#heardAt = this.#deps.clock.monotonic();
      try {
        if (!this.#isOver) parser.push(chunk);
      } catch (error) {
        this.#finish(error);
      }
      onSent();
    };
    const over = () => this.#finish(undefined);
    stream.on('end', over).on('close', over);
    if (stream.destroyed || stream.readableEnded) over();
    if (rest.length > 0) take(rest);
    stream.on('data', take).resume();
  }

  /** Ends the link once this host has nothing open. */
  drain(): void {
    this.#isDraining = true;
    if (this.#relayed.size === 0) this.#finish(undefined);
  }

  /** Looks twice: after this process was frozen, time has passed before what arrived meanwhile is read. */
  #watch(): void {
    const { clock } = this.#deps;
    this.#timer = clock.after(LOOK_MS, () => {
      const most = this.#relayed.size > 0 ? SILENT_MS.withStreams : SILENT_MS.without;
      const isSilent = clock.monotonic() - this.#heardAt > most;
      if (isSilent && this.#isDoubted) return this.#finish(new AgentFault('the host is silent'));
      this.#isDoubted = isSilent;
      this.#watch();
    });
  }

  /** Attached commands of this host end; detached ones continue. Numbers stay taken until the agent has answered. */
  #finish(fault: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    this.#host.close();
    this.#parts.clear();
    for (const relayed of this.#relayed.values()) relayed.cancel();
    this.#end(fault);
  }

  #take(type: number, id: number, payload: Buffer): void {
    if (id === 0) throw new AgentFault('a frame on stream 0');
    if (type === TYPE.PART) this.#keepPart(id, payload);
    else if (type === TYPE.OPEN || type === TYPE.CALL) this.#open(type, id, payload);
    else if (type === TYPE.CANCEL && this.#dropParts(id)) return;
    else if (isWellFormed(type, payload)) this.#relayed.get(id)?.send(type, payload);
    else throw new AgentFault(`malformed frame of type ${type}`);
  }

  #keepPart(id: number, payload: Buffer): void {
    const parts = this.#parts.get(id) ?? [];
    this.#partBytes += payload.length;
    if (
      this.#relayed.has(id) ||
      this.#partBytes > PARTS_MAX ||
      sizeOf(parts) + payload.length > ARGUMENTS_MAX
    )
      throw new AgentFault('stray or too many arguments');
    // A copy: the payload is a view of what the stream read.
    parts.push(Buffer.from(payload));
    this.#parts.set(id, parts);
  }

  #dropParts(id: number): boolean {
    const parts = this.#parts.get(id);
    if (!parts) return false;
    this.#partBytes -= sizeOf(parts);
    return this.#parts.delete(id);
  }

  #open(type: number, id: number, payload: Buffer): void {
    const parts = this.#parts.get(id) ?? [];
    this.#dropParts(id);
    if (payload.length === 0 || this.#relayed.has(id) || sizeOf(parts) + payload.length - 1 > ARGUMENTS_MAX)
      throw new AgentFault('malformed OPEN');
    const isCall = type === TYPE.CALL;
    const isTheirs = !WORKER_ONLY[type]?.includes((payload[0] as number) & ~(FOR_USER | AS_ACCOUNT));
    const relayed = isTheirs && !this.#isFull(isCall) ? this.#borrow(id, isCall) : undefined;
    for (const part of parts) relayed?.send(TYPE.PART, part);
    if (relayed) relayed.send(type, payload);
    else if (isTheirs) this.#refuse(id, ERRNO.EAGAIN, 'too many operations at once');
    else this.#refuse(id, ERRNO.EPERM, 'not for a relayed host');
  }

  #isFull(isCall: boolean): boolean {
    const streams = this.#relayed.size - this.#calls;
    return isCall ? this.#calls >= CALLS_MAX * SHARE : streams >= STREAMS_MAX * SHARE;
  }

  #borrow(id: number, isCall: boolean): Relayed | undefined {
    const { agent, streams } = this.#deps;
    const relayed = new Relayed(id, { agent, host: this.#host, onEnd: () => this.#forget(id, isCall) });
    if (!streams.borrow(relayed, isCall)) return undefined;
    this.#relayed.set(id, relayed);
    if (isCall) this.#calls += 1;
    return relayed;
  }

  #forget(id: number, isCall: boolean): void {
    this.#relayed.delete(id);
    if (isCall) this.#calls -= 1;
    if (this.#isDraining && this.#relayed.size === 0) this.#finish(undefined);
  }

  #refuse(id: number, errno: number, text: string): void {
    this.#host.send(TYPE.ERROR, id, new WireWriter().u32(errno).str(text).bytes());
  }
}

/** The rules of the agent for frames of a stream that is open. */
function isWellFormed(type: number, payload: Buffer): boolean {
  if (type === TYPE.DATA) return payload.length >= 1 && payload.length <= 1 + DATA_MAX && payload[0] === 0;
  if (type === TYPE.EOF) return payload.length === 1 && payload[0] === 0;
  if (type === TYPE.CREDIT) return payload.length === 4;
  return type === TYPE.CANCEL && payload.length === 0;
}

const sizeOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0);
