// A connection to a container's agent as a Duplex that fails with the reason for which the container ended.
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

const READ_AHEAD = 64 * 1024;

export class SocketStream extends Duplex {
  readonly #socket: Socket;
  readonly #endReason: () => Promise<Error | undefined>;

  /** Takes over the socket. The stream fails with what `endReason` gives when the socket ends, or ends without one. */
  constructor(socket: Socket, endReason: () => Promise<Error | undefined> = async () => undefined) {
    super({ readableHighWaterMark: READ_AHEAD, writableHighWaterMark: READ_AHEAD });
    this.#socket = socket;
    this.#endReason = endReason;
    socket
      .on('data', (chunk: Buffer) => this.receive(chunk))
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

  /** What the socket has received. */
  protected receive(chunk: Buffer): void {
    this.hand(chunk);
  }

  /** Passes bytes to the reader, and reads no further while it is slow. */
  protected hand(bytes: Buffer): void {
    if (!this.push(bytes)) this.#socket.pause();
  }

  async #end(): Promise<void> {
    const reason = this.destroyed ? undefined : await this.#endReason().catch(() => undefined);
    if (reason) this.destroy(reason);
    else if (!this.destroyed) this.push(null);
  }
}
