// Joins a program's connection and that to its target, byte by byte.
import type { Duplex, Transform } from 'node:stream';
import { Upstream } from './upstream.ts';

export interface Splice {
  /** Takes the program's connection out: it stays open when the other ends. */
  release(): void;
}

/** Each direction ends by itself; a failure of one side is one of both. `through` sees what the program sends. */
export function splice(client: Duplex, upstream: Duplex, through?: Transform): Splice {
  const endClient = () => {
    if (!isDone(upstream)) client.destroy();
  };
  const first = through ?? upstream;
  client
    .on('error', () => undefined)
    .once('close', () => {
      if (!isDone(client)) upstream.destroy();
    });
  upstream.on('error', () => undefined).once('close', endClient);
  upstream.once('close', () => through?.destroy());
  client.pipe(first);
  through?.pipe(upstream);
  const stop = pump(upstream, client);
  return {
    release: () => {
      stop();
      upstream.off('close', endClient);
      client.unpipe(first);
    },
  };
}

/** Pipes, and tells the connection to the target which of its chunks have left. Returns how to stop. */
function pump(from: Duplex, to: Duplex): () => void {
  const again = from instanceof Upstream ? (chunk: Buffer) => from.again(chunk) : () => undefined;
  const pass = (chunk: Buffer) => {
    if (!to.write(chunk, () => again(chunk))) from.pause();
  };
  const resume = () => void from.resume();
  const end = () => void to.end();
  from.on('data', pass).once('end', end);
  to.on('drain', resume);
  return () => {
    from.off('data', pass).off('end', end).pause();
    to.off('drain', resume);
  };
}

/** Both directions have come to their end. */
const isDone = (side: Duplex) => side.readableEnded && side.writableFinished;
