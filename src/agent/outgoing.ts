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

  /** Resolves when all of `data` has left, after all that was sent before; false: the stream was over before that. */
  send(channel: number, data: Buffer): Promise<boolean> {
    const sent = this.#last ? this.#last.then(() => this.#pump(channel, data)) : this.#pump(channel, data);
    const turn = sent.then(() => {
      if (this.#last === turn) this.#last = undefined;
    });
    this.#last = turn;
    return sent;
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

  async #pump(channel: number, data: Buffer): Promise<boolean> {
    let at = 0;
    while (at < data.length && !this.#isStopped) {
      const room = this.#frames.isFull ? 0 : this.#credit.spend(Math.min(data.length - at, DATA_MAX));
      if (room > 0) this.#frames.sendData(this.#id, channel, data.subarray(at, at + room));
      else await (this.#frames.isFull ? this.#frames.drained() : this.#credit.wait());
      at += room;
    }
    return at === data.length && !this.#isStopped;
  }

  #close(channel: number): void {
    if (!this.#isStopped) this.#frames.send(TYPE.EOF, this.#id, Buffer.from([channel]));
  }
}
