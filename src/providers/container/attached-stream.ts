// A container's standard streams on one connection as a Duplex: standard input unframed, standard output unpacked from the
// engine's frames (u8 stream, 3 zeros, u32 length big endian, bytes), standard error through a callback. Contents are
// hostile: frames of any length are passed on in pieces, so memory is bounded.
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

const HEAD = 8;
const STDOUT = 1;
const STDERR = 2;
const READ_AHEAD = 64 * 1024;

export class AttachedStream extends Duplex {
  readonly #socket: Socket;
  readonly #onStderr: (bytes: Buffer) => void;
  readonly #endReason: () => Promise<Error | undefined>;
  readonly #head = Buffer.alloc(HEAD);
  #headHave = 0;
  #stream = 0;
  #left = 0;

  /** Takes over the socket. The stream fails with what `endReason` gives when the socket ends, or ends without one. */
  constructor(
    socket: Socket,
    onStderr: (bytes: Buffer) => void,
    endReason: () => Promise<Error | undefined> = async () => undefined,
  ) {
    super({ readableHighWaterMark: READ_AHEAD, writableHighWaterMark: READ_AHEAD });
    this.#socket = socket;
    this.#onStderr = onStderr;
    this.#endReason = endReason;
    socket
      .on('data', (chunk: Buffer) => this.#take(chunk))
      .on('end', () => void this.#end())
      .on('error', (error) => this.destroy(error))
      .on('close', () => {
        // Output before a regular end may still wait for its reader.
        if (!socket.readableEnded) this.destroy();
      });
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    const last = chunks.length - 1;
    this.#socket.cork();
    chunks.forEach(({ chunk }, index) => {
      if (index === last) this.#socket.write(chunk, done);
      else this.#socket.write(chunk);
    });
    this.#socket.uncork();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  async #end(): Promise<void> {
    const reason = this.destroyed ? undefined : await this.#endReason().catch(() => undefined);
    if (reason) this.destroy(reason);
    else if (!this.destroyed) this.push(null);
  }

  #take(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.destroyed)
      at = this.#left === 0 ? this.#begin(chunk, at) : this.#hand(chunk, at);
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

  #hand(chunk: Buffer, at: number): number {
    const piece = chunk.subarray(at, at + this.#left);
    this.#left -= piece.length;
    if (this.#stream === STDERR) this.#onStderr(piece);
    else if (this.#stream === STDOUT && !this.push(piece)) this.#socket.pause();
    return at + piece.length;
  }
}
