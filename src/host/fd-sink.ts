// Writes to a descriptor without ever blocking the event loop. Node's own process.stderr writes pipes synchronously:
// a log reader that stops would stop the service.
import { write } from 'node:fs';
import type { Clock } from '../domain/ports.ts';

const RETRY_MS = 20;
/** A line that comes by itself is written at once; of many, those of so long go together. */
const REST_MS = 5;
/** More than this waits for nobody. */
const FULL = 32 * 1024;

type Sink = (text: string) => Promise<void>;

/** The same, which takes a rest after each write: writing each line of a busy server by itself costs more than making it. */
export function pacedSink(sink: Sink, clock: Pick<Clock, 'sleep'>): Sink {
  return async (text) => {
    await sink(text);
    if (text.length < FULL) await clock.sleep(REST_MS);
  };
}

/** Resolves when all of `text` is written; rejects when the other end is closed. One call at a time. */
export function fdSink(descriptor: number, clock: Pick<Clock, 'sleep'>): Sink {
  return async (text) => {
    let rest = Buffer.from(text);
    while (rest.length > 0) {
      const written = await writeSome(descriptor, rest);
      // A pipe that somebody else made non-blocking, and that is full.
      if (written === 0) await clock.sleep(RETRY_MS);
      rest = rest.subarray(written);
    }
  };
}

function writeSome(descriptor: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, (error, written) => {
      if (error && error.code !== 'EAGAIN') reject(error);
      else resolve(error ? 0 : written);
    });
  });
}
