// A container's standard streams on one connection as a Duplex: standard input unframed, standard output unpacked from the
// engine's frames (u8 stream, 3 zeros, u32 length big endian, bytes), standard error through a callback. Contents are
// hostile: frames of any length are passed on in pieces, so memory is bounded.
import type { Socket } from 'node:net';
import { SocketStream } from './socket-stream.ts';

const HEAD = 8;
const STDOUT = 1;
const STDERR = 2;

export class AttachedStream extends SocketStream {
  readonly #onStderr: (bytes: Buffer) => void;
  readonly #head = Buffer.alloc(HEAD);
  #headHave = 0;
  #stream = 0;
  #left = 0;

  /** As SocketStream. */
  constructor(
    socket: Socket,
    onStderr: (bytes: Buffer) => void,
    endReason?: () => Promise<Error | undefined>,
  ) {
    super(socket, endReason);
    this.#onStderr = onStderr;
  }

  protected override receive(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.destroyed)
      at = this.#left === 0 ? this.#begin(chunk, at) : this.#pass(chunk, at);
  }

  #begin(chunk: Buffer, at: number): number {
    const taken = chunk.copy(this.#head, this.#headHave, at);
    this.#headHave += taken;
    if (this.#headHave === HEAD) {
      this.#headHave = 0;
      this.#stream = this.#head[0] as number;
      this.#left = this.#head.readUInt32BE(4);
      if (this.#stream > STDERR) this.destroy(new Error(`the engine sent a frame of stream ${this.#stream}`));
    }
    return at + taken;
  }

  #pass(chunk: Buffer, at: number): number {
    const piece = chunk.subarray(at, at + this.#left);
    this.#left -= piece.length;
    if (this.#stream === STDERR) this.#onStderr(piece);
    else if (this.#stream === STDOUT) this.hand(piece);
    return at + piece.length;
  }
}
