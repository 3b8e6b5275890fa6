// A connection to this server that never leaves the process: what is sent over it passes the same pipeline as any request.
import type { Server } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';

/** What the server and its parts ask of a socket beside the stream. */
const SOCKET_PARTS = {
  setTimeout() {
    return this;
  },
  setNoDelay() {
    return this;
  },
  setKeepAlive() {
    return this;
  },
  ref() {
    return this;
  },
  unref() {
    return this;
  },
};

/** The client's side. `remoteAddress` is whom the server takes for the peer. Either side ends with the other. */
export function pipeTo(server: Server, remoteAddress: string | undefined): Duplex {
  const [ours, theirs] = duplexPair();
  Object.assign(ours, SOCKET_PARTS);
  Object.assign(theirs, SOCKET_PARTS, {
    remoteAddress,
    destroySoon: () => theirs.end(() => theirs.destroy()),
  });
  ours.once('close', () => theirs.destroy());
  theirs.once('close', () => ours.destroy());
  // A side that is destroyed within a write reports it to nobody.
  ours.on('error', () => undefined);
  theirs.on('error', () => undefined);
  server.emit('connection', theirs);
  return ours;
}
