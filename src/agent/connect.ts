// A TCP connection to the sandbox's loopback as a Node Duplex: it half-closes in both directions, and neither side is read
// faster than the other writes.

import { Duplex } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import { feed } from './feed.ts';
import { DATA_MAX } from './protocol.ts';
import type { Requests } from './requests.ts';
import type { AgentStream } from './stream.ts';
import { WireWriter } from './wire.ts';

const CONNECT_MS = 30_000;

/** Resolves when connected. Aborting `signal`, also later, destroys the connection. */
export async function connectPort(requests: Requests, port: number, signal?: AbortSignal): Promise<Duplex> {
  const plan = {
    args: () => portArguments(port),
    channels: [0],
    starts: true,
    endsAtEof: true,
    decode: () => undefined,
  };
  const stream = requests.open('connect', plan, signal);
  const lift = stream.within(CONNECT_MS, requests.clock, 'connect');
  requests.keepAlive(stream, 'connect');
  await stream.started;
  lift();
  return tunnel(stream);
}

function portArguments(port: number): WireWriter {
  if (Number.isInteger(port) && port > 0 && port < 65_536) return new WireWriter().u16(port);
  throw new ServiceError('bad_request', 'The port is not between 1 and 65535.');
}

/**
 * A stream that carries a connection in both directions. Errors reach whoever listens; with nobody listening they do not end the
 * process.
 */
export function tunnel(stream: AgentStream<undefined>): Duplex {
  let isFinished = false;
  // Only the peer's EOF is an end; a lost session is an error, and `result` brings it.
  const onEnd = () => {
    if (stream.incoming.isEof) duplex.push(null);
    else
      stream.result.then(
        () => duplex.push(null),
        () => undefined,
      );
  };
  const duplex: Duplex = new Duplex({
    allowHalfOpen: true,
    readableHighWaterMark: DATA_MAX,
    writableHighWaterMark: 2 * DATA_MAX,
    read: () => feed(duplex, { incoming: stream.incoming, onEnd }),
    // Whoever wrote a chunk may use its memory again when `done` is called.
    write: (chunk: Buffer, _encoding, done) => {
      void stream.outgoing.flush(0, chunk).then((isSent) => done(isSent ? null : closed()));
    },
    final: (done) => {
      stream.outgoing.end(0);
      isFinished = true;
      done();
    },
    destroy: (error, done) => {
      // With both directions at their end the agent may still be handing over our last bytes: let it.
      if (error || !isFinished || !stream.incoming.isEnded) stream.cancel(error ?? closed());
      done(error);
    },
  });
  stream.result.catch((error) => duplex.destroy(error));
  return duplex.on('error', () => undefined);
}

function closed(): ServiceError {
  return new ServiceError('unavailable', 'The connection to the sandbox is closed.');
}
