// Which requests are being answered on which connections, so that a stop ends all others at once and these as soon as
// they are done. Node's own notion of an idle connection leaves out one that never sent a byte.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface InFlight {
  /** For the server's `connection` event. */
  connected(socket: Socket): void;
  /** Whoever has taken this connection over ends it. */
  detached(socket: Duplex): void;
  /** Returns what ends it, to be called once. */
  started(response: ServerResponse): (socket: Socket) => void;
  /** This answer does not end by itself: a drain ends it, with what is written so far if its reader has taken that. */
  endless(response: ServerResponse): void;
  /** Ends connections without a request now, the others after their answer. */
  drain(): void;
  /** Ends all. */
  endAll(): void;
}

export function inFlight(): InFlight {
  const sockets = new Set<Socket>();
  const responses = slots<ServerResponse>();
  const endless = new Set<ServerResponse>();
  let draining = false;
  // One function for all connections: thousands of them may wait at once.
  function closed(this: Socket): void {
    sockets.delete(this);
  }
  return {
    connected: (socket) => {
      sockets.add(socket);
      socket.on('close', closed);
    },
    detached: (socket) => void sockets.delete(socket as Socket),
    started: (response) => {
      const slot = responses.add(response);
      return (socket) => {
        responses.remove(slot);
        endless.delete(response);
        if (draining) socket.destroySoon();
      };
    },
    endless: (response) => {
      if (draining) finish(response);
      else endless.add(response);
    },
    drain: () => {
      draining = true;
      for (const response of endless) finish(response);
      const busy = new Set([...responses].map((response) => response.socket));
      for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
      for (const response of responses) if (!response.headersSent) response.setHeader('Connection', 'close');
    },
    endAll: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function finish(response: ServerResponse): void {
  if (response.writableLength > 0) response.destroy();
  else response.end();
}

interface Slots<T> extends Iterable<T> {
  /** The slot that `remove` takes back, once. */
  add(item: T): number;
  remove(slot: number): void;
}

/**
 * A set for what comes and goes with each request. V8 keeps what was in the tables that a busy Set has outgrown until the next full
 * collection, so that requests would be copied twice instead of dying young.
 */
function slots<T extends object>(): Slots<T> {
  const items: (T | undefined)[] = [];
  const free: number[] = [];
  return {
    add: (item) => {
      const slot = free.pop() ?? items.length;
      items[slot] = item;
      return slot;
    },
    remove: (slot) => {
      items[slot] = undefined;
      free.push(slot);
    },
    *[Symbol.iterator]() {
      for (const item of items) if (item !== undefined) yield item;
    },
  };
}
