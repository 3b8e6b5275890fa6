// Answers that stay open, with the keys that opened them: when a key ends, they end within 2 s (docs/keys.md). Each is one
// connection, so their number is bounded where connections are.
import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../domain/ports.ts';
import { cutOff } from './client-disconnect.ts';

/** How long a client may take to read the end. */
const READ_MS = 500;

interface OpenStream {
  request: FastifyRequest;
  end(message: string): void;
}

export interface OpenStreams {
  /** Until the response closes. `end` says goodbye; a client that does not read that is cut. */
  add(request: FastifyRequest, response: ServerResponse, end: (message: string) => void): void;
  /** Ends those whose key has ended. */
  sweep(): void;
}

/** `reasonOf`: why the key of a request does not count any more; undefined while it does. */
export function openStreams(
  reasonOf: (request: FastifyRequest) => string | undefined,
  clock: Clock,
): OpenStreams {
  const open = new Map<ServerResponse, OpenStream>();
  const check = (response: ServerResponse, { request, end }: OpenStream) => {
    const reason = reasonOf(request);
    if (reason === undefined) return;
    open.delete(response);
    end(`Session ended: key ${reason}.`);
    clock.after(READ_MS, () => response.destroy());
  };
  return {
    add(request, response, end) {
      const stream = { request, end };
      open.set(response, stream);
      response.once('close', () => open.delete(response));
      // The key may have ended while the answer was made.
      check(response, stream);
    },
    sweep() {
      for (const [response, stream] of open) check(response, stream);
    },
  };
}

/** Ends an answer with `last`. Whoever waits for its client to disconnect sees that, too. */
export function endWith(response: ServerResponse, last: string): void {
  cutOff(response);
  if (response.writableLength > 0 || response.writableEnded) response.destroy();
  else response.end(last);
}
