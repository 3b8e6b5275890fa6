// Messages of a WebSocket for one reader that takes them in its own time: when too much waits, the connection is not read,
// so the client's writes wait too.
import type { RawData, WebSocket } from 'ws';

const WAITING_BYTES = 256 * 1024;

export interface SocketFrame {
  data: Buffer;
  isBinary: boolean;
}

export class SocketInput {
  readonly #ws: WebSocket;
  readonly #waiting: SocketFrame[] = [];
  #bytes = 0;
  #wake: ((frame: SocketFrame) => void) | undefined;

  constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.on('message', (data: RawData, isBinary) => this.#came({ data: data as Buffer, isBinary }));
  }

  /** The next message. Never settles when none comes any more. */
  next(): Promise<SocketFrame> {
    const frame = this.#waiting.shift();
    if (!frame)
      return new Promise((resolve) => {
        this.#wake = resolve;
      });
    this.#bytes -= frame.data.length;
    if (this.#bytes < WAITING_BYTES) this.#ws.resume();
    return Promise.resolve(frame);
  }

  #came(frame: SocketFrame): void {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake) wake(frame);
    else this.#waiting.push(frame);
    this.#bytes += wake ? 0 : frame.data.length;
    if (this.#bytes >= WAITING_BYTES || this.#waiting.length >= MOST_WAITING) this.#ws.pause();
  }
}

/** Empty messages weigh nothing and cost memory all the same. */
const MOST_WAITING = 256;
