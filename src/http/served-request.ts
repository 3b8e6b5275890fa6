// A request without a body ends with its answer, without the events of an end that nobody waits for, on which Node spends six
// callbacks.
import { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

declare module 'node:http' {
  interface IncomingMessage {
    /** Node calls it once the answer is out: what nobody has read must be off the wire before the next request. */
    _dump(): void;
  }
}

const readableEnded = Object.getOwnPropertyDescriptor(Readable.prototype, 'readableEnded');

/** For the option `IncomingMessage` of a server. */
export class ServedRequest extends IncomingMessage {
  #isOver = false;
  /** All bytes of the stated length have come. Node sets `complete` only after the listeners of the last ones. */
  isWhole = false;

  static {
    // What TypeScript declares a property is an accessor, by which Node decides whether the connection still needs the request.
    Object.defineProperty(ServedRequest.prototype, 'readableEnded', {
      get(this: ServedRequest) {
        return this.#isOver || readableEnded?.get?.call(this);
      },
    });
  }

  override _dump(): void {
    if (this.complete && this.readableLength === 0 && !isAwaited(this)) this.#isOver = true;
    else super._dump();
  }
}

const isAwaited = (request: IncomingMessage) =>
  ['end', 'close', 'readable', 'data'].some((event) => request.listenerCount(event) > 0);

/** Nothing of the request can be missing or prove invalid any more. */
export const isWhole = (request: IncomingMessage): boolean =>
  request.complete || (request instanceof ServedRequest && request.isWhole);
