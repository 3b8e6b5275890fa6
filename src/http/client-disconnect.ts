// One abort signal a request, tied to its connection: it aborts when the connection ends before the answer is out.
// Made only when somebody asks for it.
import type { ServerResponse } from 'node:http';
import type { Abort, AbortListener } from '../domain/abort.ts';
import { ServiceError } from '../domain/errors.ts';

const cut = new WeakSet<ServerResponse>();

/** From now on the end of this answer counts as that of a client that disconnected, although its last bytes are sent. */
export function cutOff(response: ServerResponse): void {
  cut.add(response);
}

/** Whether the client disconnected before this answer, which has ended, was out. */
const wasLeft = (response: ServerResponse) => !response.writableFinished || cut.has(response);

/** The signal; its reason is a ServiceError that nobody is left to read. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abort = () => {
    if (wasLeft(response)) controller.abort(disconnected());
  };
  if (response.destroyed || response.closed) abort();
  else response.on('close', abort);
  return controller.signal;
}

/** Says the same without a signal, which weighs a kilobyte: for calls of which thousands may wait. */
export class Disconnect implements Abort {
  readonly #response: ServerResponse;
  #listeners: AbortListener[] | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get aborted(): boolean {
    const { destroyed, closed } = this.#response;
    return (destroyed || closed) && wasLeft(this.#response);
  }

  get reason(): unknown {
    return this.aborted ? disconnected() : undefined;
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(_type: 'abort', listener: AbortListener): void {
    if (this.#listeners) this.#listeners.push(listener);
    else {
      this.#listeners = [listener];
      this.#response.on('close', () => this.#end());
    }
  }

  removeEventListener(_type: 'abort', listener: AbortListener): void {
    this.#listeners = this.#listeners?.filter((other) => other !== listener);
  }

  #end(): void {
    const listeners = this.aborted ? (this.#listeners ?? []) : [];
    this.#listeners = [];
    for (const listener of listeners)
      if (typeof listener === 'function') listener();
      else listener.handleEvent();
  }
}

/** Whether `error` only says that nobody waits any more: no fault of anybody's. */
export function isDisconnect(error: unknown): boolean {
  return error instanceof ClientDisconnected;
}

class ClientDisconnected extends ServiceError {}

function disconnected(): ServiceError {
  return new ClientDisconnected('unavailable', 'The client closed the connection.');
}
