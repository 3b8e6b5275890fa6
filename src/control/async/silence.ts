// Signs of life for streams that may say nothing for hours: proxies and clients give up on silent connections.
import type { Clock } from '../../domain/ports.ts';

const SILENCE_MS = 15_000;

/** True when 15 s pass before `event`; false as soon as it is there. */
export function silent(event: Promise<unknown>, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.after(SILENCE_MS, () => resolve(true));
    const there = () => {
      timer.cancel();
      resolve(false);
    };
    event.then(there, there);
  });
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
    // A source that waits cannot be ended by return(): whoever leaves early aborts its signal too.
    if (!isOver) void source.return(undefined);
  }
}
