// The sending direction of one stream: bytes leave in order, as far as credit and transport allow.
import { SendCredit } from './credit.ts';
import type { FrameWriter } from './frame-writer.ts';
import { DATA_MAX, TYPE } from './protocol.ts';

export class Outgoing {
  readonly #id: number;
  readonly #frames: FrameWriter;
  readonly #credit = new SendCredit();
  #isStopped = false;
  #last: Promise<unknown> | undefined;

  constructor(id: number, frames: FrameWriter) {
    this.#id = id;
    this.#frames = frames;
  }

  /**
   * Resolves when all of `data` was handed to the transport, after all that was sent before; false: the stream was over before
   * that. `left` is called when nothing holds `data` any more.
   */
  send(channel: number, data: Buffer, left?: () => void): Promise<boolean> {
    const sent = this.#last
      ? this.#last.then(() => this.#pump(channel, data, left))
      : this.#pump(channel, data, left);
    const turn = sent.then(() => {
      if (this.#last === turn) this.#last = undefined;
    });
    this.#last = turn;
    return sent;
  }

  /** As `send`; resolves when nothing holds `data` any more. */
  async flush(channel: number, data: Buffer): Promise<boolean> {
    let left: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => {
      left = resolve;
    });
    const isSent = await this.send(channel, data, left);
    await gone;
    return isSent;
  }

  /** Closes a channel, after all that was sent before. */
  end(channel: number): void {
    if (this.#last) void this.#last.then(() => this.#close(channel));
    else this.#close(channel);
  }

  grant(bytes: number): void {
    this.#credit.grant(bytes);
  }

  /** Nothing more leaves; who waits is let go. */
  stop(): void {
    this.#isStopped = true;
    this.#credit.open();
  }

  async #pump(channel: number, data: Buffer, left?: () => void): Promise<boolean> {
    let [at, held] = [0, 1];
    const release =
      left &&
      (() => {
        held -= 1;
        if (held === 0) left();
      });
    while (at < data.length && !this.#isStopped) {
      const room = this.#frames.isFull ? 0 : this.#credit.spend(Math.min(data.length - at, DATA_MAX));
      if (room > 0) {
        held += 1;
        this.#frames.sendData(this.#id, channel, data.subarray(at, at + room), release);
      } else await (this.#frames.isFull ? this.#frames.drained() : this.#credit.wait());
      at += room;
    }
    release?.();
    return at === data.length && !this.#isStopped;
  }

  #close(channel: number): void {
    if (!this.#isStopped) this.#frames.send(TYPE.EOF, this.#id, Buffer.from([channel]));
  }
}
