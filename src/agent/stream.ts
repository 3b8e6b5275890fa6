// One OPEN or CALL and its frames. It settles once, at the last frame, a cancel or the end of the session. After a cancel it
// drops frames until the agent has answered, so its number stays taken.
import { ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { ERRNO, errnoError } from './errno.ts';
import { AgentFault, tooLate } from './fault.ts';
import type { FrameWriter } from './frame-writer.ts';
import { Incoming } from './incoming.ts';
import { Outgoing } from './outgoing.ts';
import { TYPE } from './protocol.ts';
import type { StreamRequest } from './request.ts';
import { WireReader } from './wire.ts';

export class AgentStream<T> {
  /** Resolves at STARTED or the result; rejects as `result`. Handled already: it may be ignored. */
  readonly started: Promise<void>;
  /** The value that `decode` returned. Rejects with ServiceError, or the reason of a cancel. Handled already: it may be ignored. */
  readonly result: Promise<T>;
  /** Its number on the wire; 0 when it was never sent. */
  readonly id: number;
  readonly incoming: Incoming;
  readonly outgoing: Outgoing;
  readonly #request: StreamRequest<T>;
  readonly #frames: FrameWriter;
  readonly #undo = new Set<() => void>();
  #start!: () => void;
  #resolve!: (value: T) => void;
  #reject!: (reason: unknown) => void;
  #hasStarted = false;
  #pid = 0;
  #hasData = false;
  #isCancelled = false;
  #isSettled = false;

  constructor(id: number, request: StreamRequest<T>, frames: FrameWriter) {
    this.id = id;
    this.#request = request;
    this.#frames = frames;
    this.incoming = new Incoming(id, frames);
    this.outgoing = new Outgoing(id, frames);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.started = request.starts
      ? new Promise((resolve, reject) => {
          this.#start = resolve;
          this.result.then(() => resolve(), reject);
        })
      : this.result.then(() => undefined);
    this.started.catch(() => undefined);
  }

  /** Cancels with the signal's reason when it aborts, until the stream settles. */
  tie(signal: AbortSignal): void {
    if (this.#isSettled) return;
    const abort = () => this.cancel(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#undo.add(() => signal.removeEventListener('abort', abort));
  }

  /** Cancels the stream after `ms`. Returns a function that lifts the limit. */
  within(ms: number, clock: Clock, what: string): () => void {
    return this.after(ms, clock, () => this.cancel(tooLate(what)));
  }

  /** Calls `run` after `ms`, unless the stream has settled by then. Returns a function that cancels the call. */
  after(ms: number, clock: Clock, run: () => void): () => void {
    if (this.#isSettled) return () => undefined;
    const timer = clock.after(ms, () => {
      this.#undo.delete(lift);
      run();
    });
    const lift = () => {
      timer.cancel();
      this.#undo.delete(lift);
    };
    this.#undo.add(lift);
    return lift;
  }

  /** Whether the agent has sent STARTED. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** The process id inside the sandbox that STARTED named; 0 before, and where nothing was started. */
  get pid(): number {
    return this.#pid;
  }

  /** Asks the agent to end the stream, which continues until the agent answers: with ERROR ECANCELED unless it was faster. */
  askToEnd(): void {
    if (this.#isCancelled || this.#isSettled) return;
    this.#isCancelled = true;
    this.#frames.send(TYPE.CANCEL, this.id, Buffer.alloc(0));
  }

  /** Ends the stream for the caller now, with `reason`. The agent gets a CANCEL; its answer is dropped. */
  cancel(reason: unknown): void {
    this.askToEnd();
    this.fail(reason);
  }

  /** Ends the stream without a frame to the agent: it was never sent, or the session is over. */
  fail(reason: unknown): void {
    if (this.#isSettled) return;
    this.#settle();
    this.#reject(reason);
    this.incoming.drop();
  }

  /** Handles a frame. Returns true for the last one. Throws AgentFault. */
  accept(type: number, payload: Buffer): boolean {
    if (type === TYPE.DATA) this.#onData(payload);
    else if (type === TYPE.CREDIT) this.outgoing.grant(only(payload, (reader) => reader.u32()));
    else if (type === TYPE.EOF) this.#onEof(only(payload, (reader) => reader.u8()));
    else if (type === TYPE.STARTED) this.#onStarted(payload);
    else return this.#onLast(type, payload);
    return false;
  }

  #onData(payload: Buffer): void {
    const channel = payload[0];
    if (channel === undefined || !this.#request.channels?.includes(channel) || this.incoming.isEof)
      throw new AgentFault('stray DATA');
    this.#hasData = true;
    this.incoming.receive(channel, payload.subarray(1));
  }

  #onEof(channel: number): void {
    if (this.#request.endsAtEof && channel === 0) this.incoming.end();
  }

  #onStarted(payload: Buffer): void {
    const pid = only(payload, (reader) => reader.u32());
    if (!this.#request.starts || this.#hasStarted || this.#hasData) throw new AgentFault('stray STARTED');
    this.#hasStarted = true;
    this.#pid = pid;
    this.#start();
  }

  #onLast(type: number, payload: Buffer): boolean {
    const settle = type === TYPE.RESULT ? this.#readResult(payload) : this.#readError(type, payload);
    if (this.#isSettled) return true;
    this.#settle();
    settle();
    this.incoming.close();
    return true;
  }

  #readResult(payload: Buffer): () => void {
    const value = only(payload, this.#request.decode);
    return () => this.#resolve(value);
  }

  #readError(type: number, payload: Buffer): () => void {
    if (type !== TYPE.ERROR) throw new AgentFault(`frame type ${type}`);
    const [errno, text] = only(payload, (reader) => [reader.u32(), reader.str()] as const);
    const error = errno === ERRNO.ECANCELED ? new Cancelled() : errnoError(errno, text, this.#request.words);
    return () => this.#reject(error);
  }

  #settle(): void {
    this.#isSettled = true;
    for (const undo of this.#undo) undo();
    this.outgoing.stop();
  }
}

/** The agent's answer to a CANCEL that the caller did not make by a signal. */
export class Cancelled extends ServiceError {
  constructor() {
    super('unavailable', 'The operation was cancelled.');
  }
}

function only<V>(payload: Buffer, read: (reader: WireReader) => V): V {
  const reader = new WireReader(payload);
  const value = read(reader);
  reader.end();
  return value;
}
