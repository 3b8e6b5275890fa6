// Writes the frames of a session: frames of one turn of the event loop leave in one system call. A frame is written without
// waiting for the transport; senders of DATA check `isFull` before each.
import type { Duplex } from 'node:stream';
import { WideStreams } from './credit.ts';
import { encodeFrame, frameHead } from './frame.ts';
import { TYPE } from './protocol.ts';

/** Below this, copying is cheaper than one more piece for the kernel. */
const COPY_BELOW = 4096;
/** Senders of DATA wait while this much is unsent. */
const FULL_BYTES = 512 * 1024;
/** New calls are refused over this much unsent. */
const BUSY_BYTES = 8 * 1024 * 1024;
/** An agent that leaves this much unread does not read: a fault. */
const STUCK_BYTES = 16 * 1024 * 1024;

export class FrameWriter {
  /** The wide streams of the session. */
  readonly wide = new WideStreams();
  readonly #stream: Duplex;
  readonly #tag: number;
  /** Made for the first large frame: most sessions have none. */
  #tail: Buffer | undefined;
  readonly #onStuck: () => void;
  #corked = false;
  #closed = false;
  #waiting: (() => void)[] = [];

  /** `onStuck` is called when the agent has stopped reading. */
  constructor(stream: Duplex, tag: number, onStuck: () => void) {
    this.#onStuck = onStuck;
    this.#stream = stream;
    this.#tag = tag;
    stream.on('drain', () => this.#wake());
  }

  /** Sends one frame. After `close` it does nothing. */
  send(type: number, stream: number, payload: Buffer): void {
    this.#write(encodeFrame({ type, stream, tag: this.#tag }, payload));
  }

  /** Sends one DATA frame of at most DATA_MAX bytes. `data` must not change until `left` is called: nothing holds it then. */
  sendData(stream: number, channel: number, data: Buffer, left?: () => void): void {
    const fields = { type: TYPE.DATA, stream, tag: this.#tag };
    if (data.length < COPY_BELOW) {
      this.#write(encodeFrame(fields, [channel], data));
      left?.();
      return;
    }
    this.#write(frameHead(fields, [channel], data.length));
    this.#write(data, left);
    this.#write(this.#tailOf(this.#tag));
  }

  #tailOf(tag: number): Buffer {
    if (this.#tail) return this.#tail;
    this.#tail = Buffer.alloc(4);
    this.#tail.writeUInt32LE(tag);
    return this.#tail;
  }

  get isFull(): boolean {
    return !this.#closed && this.#stream.writableLength >= FULL_BYTES;
  }

  get isBusy(): boolean {
    return this.#stream.writableLength >= BUSY_BYTES;
  }

  /** Resolves when the unsent bytes have left, or the writer was closed. */
  drained(): Promise<void> {
    if (!this.isFull) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Drops everything that follows and wakes the waiting senders. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #write(bytes: Buffer, left?: () => void): void {
    const isStuck = !this.#closed && this.#stream.writableLength > STUCK_BYTES;
    if (isStuck) this.#onStuck();
    if (this.#closed || isStuck) {
      left?.();
      return;
    }
    if (!this.#corked) {
      this.#corked = true;
      this.#stream.cork();
      process.nextTick(() => this.#flush());
    }
    this.#stream.write(bytes, left);
  }

  #flush(): void {
    this.#corked = false;
    this.#stream.uncork();
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}
