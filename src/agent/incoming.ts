// The receiving direction of one stream: what arrived waits here until the consumer takes it, and only then may the
// agent send more.
import { ReceiveCredit } from './credit.ts';
import type { FrameWriter } from './frame-writer.ts';
import { Inbox, type Piece } from './inbox.ts';
import { TYPE } from './protocol.ts';
import { WireWriter } from './wire.ts';

export class Incoming {
  readonly #id: number;
  readonly #frames: FrameWriter;
  readonly #inbox = new Inbox();
  readonly #credit: ReceiveCredit;
  /** Nothing more is expected; with `#isClosed` the agent is not given credit either. */
  #isEof = false;
  #isClosed = false;
  #isDiscarding = false;
  #onReadable: (() => void) | undefined;

  constructor(id: number, frames: FrameWriter) {
    this.#id = id;
    this.#frames = frames;
    this.#credit = new ReceiveCredit(frames.wide);
  }

  /** The next piece that has arrived, in order; taking it gives its credit back. undefined: nothing now. */
  take(): Piece | undefined {
    const piece = this.#inbox.take();
    if (piece) this.#giveBack(piece.data.length);
    return piece;
  }

  /** Nothing is left to take and nothing will come. */
  get isEnded(): boolean {
    return (this.#isEof || this.#isClosed) && this.#inbox.isEmpty;
  }

  /** The next piece, waited for; undefined at the end, however it came. One consumer. */
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

  /** Bytes of the agent. Throws AgentFault when there are more than it may send; after `drop` they only count. */
  receive(channel: number, data: Buffer): void {
    this.#credit.receive(data.length);
    if (data.length === 0 || this.#isClosed) return;
    if (this.#isDiscarding) this.#giveBack(data.length);
    else this.#inbox.push(channel, data);
    this.#wake();
  }

  get isEof(): boolean {
    return this.#isEof;
  }

  /** The agent sends no more data. Received data can still be taken. */
  end(): void {
    this.#isEof = true;
    this.#wake();
  }

  /** The stream is over. What is here can still be taken. */
  close(): void {
    this.#isClosed = true;
    this.#credit.end();
    this.#wake();
  }

  /** The stream is over, and nobody wants the rest. */
  drop(): void {
    this.#inbox.clear();
    this.close();
  }

  #giveBack(bytes: number): void {
    const step = this.#credit.take(bytes);
    if (step === 0 || this.#isClosed) return;
    this.#frames.send(TYPE.CREDIT, this.#id, new WireWriter().u32(step).bytes());
  }

  #wake(): void {
    const run = this.#onReadable;
    this.#onReadable = undefined;
    run?.();
  }
}
