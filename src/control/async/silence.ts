// Keepalives for streams that may be silent for hours: proxies and clients give up on silent connections.
import type { Clock } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';

const SILENCE_MS = 15_000;

/** True when 15 s pass before `event` settles, else false. */
export function silent(event: Promise<unknown>, clock: Clock): Promise<boolean> {
  const settled = () => false;
  return orAfter(clock, SILENCE_MS, event.then(settled, settled), () => true);
}

/** The values of `source`, and undefined for every 15 s without one. Leaving early ends the source. */
export async function* orSilence<T>(source: AsyncGenerator<T>, clock: Clock): AsyncGenerator<T | undefined> {
  let isOver = false;
  try {
    while (!isOver) {
      const next = source.next();
      while (await silent(next, clock)) yield undefined;
      const { done, value } = await next;
      isOver = done === true;
      if (!done) yield value;
    }
  } finally {
    // return() does not end a source that waits: a reader that leaves early also aborts its signal.
    if (!isOver) void source.return(undefined);
  }
}
