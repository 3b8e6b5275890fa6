// One OPEN or CALL and all that is said about it. It settles once, for its caller, at the last frame, a cancel or the
// session's end; after a cancel it still listens (and drops) until the agent has answered, so its number stays taken.
import { ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { ReceiveCredit } from './credit.ts';
import { ERRNO, errnoError } from './errno.ts';
import { AgentFault, tooLate } from './fault.ts';
import { Inbox, type Piece } from './inbox.ts';
import type { Link } from './link.ts';
import { Outgoing } from './outgoing.ts';
import type { StreamPlan } from './plan.ts';
import { TYPE } from './protocol.ts';
import { WireReader, WireWriter } from './wire.ts';

export class AgentStream<T> {
  /** Resolves at STARTED or the result; rejects as `result`. Handled already: it may be ignored. */
  readonly started: Promise<void>;
  /** What `decode` read. Rejects with ServiceError, or the reason of a cancel. Handled already: it may be ignored. */
  readonly result: Promise<T>;
  /** Its number on the wire; 0 when it was never sent. */
  readonly id: number;
  readonly #plan: StreamPlan<T>;
  readonly #link: Link;
  readonly #inbox = new Inbox();
  readonly #credit = new ReceiveCredit();
  /** The bytes we send. */
  readonly outgoing: Outgoing;
  readonly #undo: (() => void)[] = [];
  #start!: () => void;
  #resolve!: (value: T) => void;
  #reject!: (reason: unknown) => void;
  #hasStarted = false;
  #hasData = false;
  #isCancelled = false;
  #isSettled = false;
  #isEof = false;
  #isDiscarding = false;
  #onReadable: (() => void) | undefined;

  constructor(id: number, plan: StreamPlan<T>, link: Link) {
    this.id = id;
    this.#plan = plan;
    this.#link = link;
    this.outgoing = new Outgoing(id, link);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.started = plan.starts
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
    this.#undo.push(() => signal.removeEventListener('abort', abort));
  }

  /** From now on at most `ms`. Answers how to lift it. */
  within(ms: number, clock: Clock, what: string): () => void {
    if (this.#isSettled) return () => undefined;
    const timer = clock.after(ms, () => this.cancel(tooLate(what)));
    const lift = () => timer.cancel();
    this.#undo.push(lift);
    return lift;
  }

  // ---- what the consumer does

  /** The next piece that has arrived, in order; taking it gives its credit back. undefined: nothing now. */
  take(): Piece | undefined {
    const piece = this.#inbox.take();
    if (piece) this.#giveBack(piece.data.length);
    return piece;
  }

  /** Nothing is left to take and nothing will come. */
  get isEnded(): boolean {
    return (this.#isSettled || this.#isEof) && this.#inbox.isEmpty;
  }

  /** The next piece, waited for; undefined at the end, however it came (see `result`). One consumer. */
  async next(): Promise<Piece | undefined> {
    for (;;) {
      const piece = this.take();
      if (piece || this.isEnded) return piece;
      await new Promise<void>((resolve) => this.whenReadable(resolve));
    }
  }

  /** `run` is called, once, when there is something to take or the end. Replaces the one before. */
  whenReadable(run: () => void): void {
    this.#onReadable = run;
  }

  /** Takes and drops everything from now on, so that the process never waits for a reader. */
  discard(): void {
    this.#isDiscarding = true;
    while (this.take());
  }

  /** Asks the agent to end it. The stream goes on until the agent has: ERROR ECANCELED unless it was faster. */
  askToEnd(): void {
    if (this.#isCancelled || this.#isSettled) return;
    this.#isCancelled = true;
    this.#link.frame(TYPE.CANCEL, this.id, Buffer.alloc(0));
  }

  /** Ends it for the caller now, with `reason`; the agent is told and its answer dropped. */
  cancel(reason: unknown): void {
    this.askToEnd();
    this.fail(reason);
  }

  /** Ends it without a word to the agent: it was never sent, or the session is over. */
  fail(reason: unknown): void {
    if (this.#isSettled) return;
    this.#inbox.clear();
    this.#settle();
    this.#reject(reason);
    this.#wake();
  }

  // ---- what the agent says

  /** Takes a frame; true: it was the last. Throws AgentFault. */
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
    if (channel === undefined || !this.#plan.channels?.includes(channel) || this.#isEof)
      throw new AgentFault('stray DATA');
    const data = payload.subarray(1);
    this.#hasData = true;
    this.#credit.receive(data.length);
    if (data.length === 0 || this.#isSettled) return;
    if (this.#isDiscarding) this.#giveBack(data.length);
    else this.#inbox.push(channel, data);
    this.#wake();
  }

  #onEof(channel: number): void {
    if (!this.#plan.endsAtEof || channel !== 0) return;
    this.#isEof = true;
    this.#wake();
  }

  #onStarted(payload: Buffer): void {
    only(payload, (reader) => reader.u32());
    if (!this.#plan.starts || this.#hasStarted || this.#hasData) throw new AgentFault('stray STARTED');
    this.#hasStarted = true;
    this.#start();
  }

  #onLast(type: number, payload: Buffer): boolean {
    const settle = type === TYPE.RESULT ? this.#readResult(payload) : this.#readError(type, payload);
    if (this.#isSettled) return true;
    this.#settle();
    settle();
    this.#wake();
    return true;
  }

  #readResult(payload: Buffer): () => void {
    const value = only(payload, this.#plan.decode);
    return () => this.#resolve(value);
  }

  #readError(type: number, payload: Buffer): () => void {
    if (type !== TYPE.ERROR) throw new AgentFault(`frame type ${type}`);
    const [errno, text] = only(payload, (reader) => [reader.u32(), reader.str()] as const);
    const error = errno === ERRNO.ECANCELED ? new Cancelled() : errnoError(errno, text, this.#plan.words);
    return () => this.#reject(error);
  }

  // ---- inside

  #giveBack(bytes: number): void {
    const step = this.#credit.take(bytes);
    if (step > 0 && !this.#isSettled)
      this.#link.frame(TYPE.CREDIT, this.id, new WireWriter().u32(step).bytes());
  }

  #settle(): void {
    this.#isSettled = true;
    for (const undo of this.#undo) undo();
    this.outgoing.stop();
  }

  #wake(): void {
    const run = this.#onReadable;
    this.#onReadable = undefined;
    run?.();
  }
}

/** The receiving half, whatever the result is. */
export type Incoming = Pick<AgentStream<never>, 'take' | 'next' | 'isEnded' | 'whenReadable' | 'discard'>;

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
