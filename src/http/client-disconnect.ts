// One abort signal a request, tied to its connection: it aborts when the connection ends before the answer is out.
// Made only when somebody asks for it.
import type { ServerResponse } from 'node:http';
import { ServiceError } from '../domain/errors.ts';

const cut = new WeakSet<ServerResponse>();

/** From now on the end of this answer counts as that of a client that disconnected, although its last bytes are sent. */
export function cutOff(response: ServerResponse): void {
  cut.add(response);
}

/** The signal; its reason is a ServiceError that nobody is left to read. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abort = () => {
    if (!response.writableFinished || cut.has(response)) controller.abort(disconnected());
  };
  if (response.destroyed || response.closed) abort();
  else response.once('close', abort);
  return controller.signal;
}

/** Whether `error` only says that nobody waits any more: no fault of anybody's. */
export function isDisconnect(error: unknown): boolean {
  return error instanceof ClientDisconnected;
}

class ClientDisconnected extends ServiceError {}

function disconnected(): ServiceError {
  return new ClientDisconnected('unavailable', 'The client closed the connection.');
}
