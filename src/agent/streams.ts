// All streams of a session: assigns numbers, sends requests, and passes every frame of the agent to its stream. A number stays
// taken until the agent has sent its last frame.
import { ServiceError } from '../domain/errors.ts';
import type { ErrorCode } from '../schema/error.ts';
import { AgentFault } from './fault.ts';
import type { FrameWriter } from './frame-writer.ts';
import {
  ACCEPTS_MAX,
  ARGUMENTS_MAX,
  AS_ACCOUNT,
  CALLS_MAX,
  FOR_USER,
  KIND,
  PAYLOAD_MAX,
  STREAMS_MAX,
  TYPE,
} from './protocol.ts';
import type { StreamRequest } from './request.ts';
import { AgentStream } from './stream.ts';
import { WireWriter } from './wire.ts';

interface Listener {
  accept(type: number, payload: Buffer): boolean;
  fail(reason: unknown): void;
}

/** The budgets of the agent: one for each of these. */
const MOST = { stream: STREAMS_MAX, call: CALLS_MAX, accept: ACCEPTS_MAX };
type Budget = keyof typeof MOST;

/** A stream of another host that this session carries. */
interface Borrower extends Listener {
  id: number;
}

export class Streams {
  readonly #frames: FrameWriter;
  readonly #open = new Map<number, { listener: Listener; budget: Budget }>();
  readonly #counts: Record<Budget, number> = { stream: 0, call: 0, accept: 0 };
  #lastId = 0;
  #over: ServiceError | undefined;

  constructor(frames: FrameWriter) {
    this.#frames = frames;
  }

  /** Sends the request. Always returns a stream; one that could not be sent has already failed. */
  open<T>(request: StreamRequest<T>, signal?: AbortSignal): AgentStream<T> {
    try {
      signal?.throwIfAborted();
      const payload = this.#prepare(request);
      const stream = new AgentStream(this.#freeId(), request, this.#frames);
      this.#send(stream, request, payload);
      if (signal) stream.tie(signal);
      return stream;
    } catch (error) {
      const stream = new AgentStream(0, request, this.#frames);
      stream.fail(error);
      return stream;
    }
  }

  /** Gives `borrower` a number of its own, until the agent's last frame. False: too many are open, or the session is over. */
  borrow(borrower: Borrower, isCall: boolean): boolean {
    const budget = isCall ? 'call' : 'stream';
    if (this.#over || this.#isFull(budget)) return false;
    borrower.id = this.#freeId();
    this.#add(borrower.id, borrower, budget);
    return true;
  }

  /** Passes a frame to its stream. Throws AgentFault when the agent names a stream that is not open. */
  dispatch(type: number, id: number, payload: Buffer): void {
    const entry = this.#open.get(id);
    if (!entry) throw new AgentFault(`frame type ${type} on unknown stream ${id}`);
    if (!entry.listener.accept(type, payload)) return;
    this.#open.delete(id);
    this.#counts[entry.budget] -= 1;
  }

  /** Fails all streams, also those opened later. */
  endAll(error: ServiceError): void {
    this.#over = error;
    const all = [...this.#open.values()];
    this.#open.clear();
    for (const { listener } of all) listener.fail(error);
  }

  /** The kind and its arguments, or the reason why nothing can be sent now. */
  #prepare(request: StreamRequest<unknown>): Buffer {
    if (this.#over) throw this.#over;
    if (this.#isFull(budgetOf(request)))
      throw refused(
        'resource_limit',
        'Too many operations at once in this sandbox.',
        'Wait until another operation ends.',
      );
    const own = request.args().bytes();
    const whose = whoseOf(request);
    const args = whose ? Buffer.concat([whose.bytes(), own]) : own;
    if (args.length > ARGUMENTS_MAX)
      throw refused(
        'bad_request',
        'Arguments and environment are over 2 MiB.',
        'Send long input as stdin or a file.',
      );
    return args;
  }

  /** Arguments that do not fit into a frame go ahead in PARTs. */
  #send<T>(stream: AgentStream<T>, request: StreamRequest<T>, args: Buffer): void {
    this.#add(stream.id, stream, budgetOf(request));
    const code = codeOf(request);
    let at = 0;
    for (; args.length - at > PAYLOAD_MAX - 1; at += PAYLOAD_MAX) {
      this.#frames.send(TYPE.PART, stream.id, args.subarray(at, at + PAYLOAD_MAX));
    }
    this.#frames.send(request.type, stream.id, Buffer.concat([Buffer.from([code]), args.subarray(at)]));
  }

  #isFull(budget: Budget): boolean {
    return this.#frames.isBusy || this.#counts[budget] >= MOST[budget];
  }

  #add(id: number, listener: Listener, budget: Budget): void {
    this.#open.set(id, { listener, budget });
    this.#counts[budget] += 1;
  }

  #freeId(): number {
    do {
      this.#lastId = this.#lastId >= 0xffff_ffff ? 1 : this.#lastId + 1;
    } while (this.#open.has(this.#lastId));
    return this.#lastId;
  }
}

/** What the arguments begin with, for a tenant or as a user. */
function whoseOf({ uid, account }: StreamRequest<unknown>): WireWriter | undefined {
  if (uid !== undefined) return new WireWriter().u32(uid);
  return account === undefined ? undefined : new WireWriter().str(account);
}

function codeOf({ code, uid, account }: StreamRequest<unknown>): number {
  if (uid !== undefined) return code | FOR_USER;
  return account === undefined ? code : code | AS_ACCOUNT;
}

function budgetOf({ type, code }: StreamRequest<unknown>): Budget {
  if (type === TYPE.CALL) return 'call';
  return code === KIND.accept ? 'accept' : 'stream';
}

function refused(code: ErrorCode, message: string, remedy: string): ServiceError {
  return new ServiceError(code, message, { remedy });
}
