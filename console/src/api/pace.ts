// How often the page asks. Where the server refuses calls since there were too many, everything that repeats waits as long as the
// server says and then repeats half as often, up to eight times less; after each quiet minute twice as often again.
import { signal } from '@preact/signals';

const MOST_SLOWER = 8;
const SHORTEST_S = 2;
const LONGEST_S = 60;
const RECOVER_MS = 60_000;

/** By how many times pauses are longer: 1 unless calls were refused. */
export const slower = signal(1);
let allowedAt = 0;
let recovery: ReturnType<typeof setTimeout> | undefined;

/** A call was refused with 429; `retryAfter` is in seconds. Several refusals of the same moment count once. */
export function slowDown(retryAfter = SHORTEST_S): void {
  const isNew = Date.now() >= allowedAt;
  const wait = Math.min(LONGEST_S, Math.max(SHORTEST_S, retryAfter)) * 1000;
  allowedAt = Math.max(allowedAt, Date.now() + wait);
  if (isNew) slower.value = Math.min(MOST_SLOWER, slower.value * 2);
  clearTimeout(recovery);
  recovery = setTimeout(recover, wait + RECOVER_MS);
}

function recover(): void {
  slower.value /= 2;
  recovery = slower.value > 1 ? setTimeout(recover, RECOVER_MS) : undefined;
}

/** Ms until something that repeats after `every` ms is due again. */
export const pauseOf = (every: number): number => Math.max(every * slower.peek(), allowedAt - Date.now());

/** Between calls that waited: the first shows whether the server takes calls again. */
const GAP_MS = 200;
let turnAt = 0;

/** Resolves when the server takes calls again, for one after the other. Rejects when `stop` ends. */
export async function allowed(stop?: AbortSignal): Promise<void> {
  while (Date.now() < allowedAt) {
    turnAt = Math.max(allowedAt, turnAt + GAP_MS);
    await pause(turnAt - Date.now(), stop);
    stop?.throwIfAborted();
  }
}

const pause = (ms: number, stop?: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    stop?.addEventListener('abort', end, { once: true });
  });
