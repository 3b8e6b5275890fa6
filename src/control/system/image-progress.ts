// The progress of work as lines for one reader, whatever its pace: of each layer only the newest is kept for it.
import type { Clock } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';
import type { ImageProgress } from '../../schema/image-calls.ts';

/** A failure within this time is an answer of its own, with its status. */
const FIRST_MS = 2000;
/** How often a line comes at least. */
const SIGN_MS = 15_000;

/** Begins `work`. Rejects with its failure when it fails before its first progress, or at once. */
export async function progressLines<L extends object>(
  clock: Clock,
  work: (onProgress: (event: ImageProgress) => void) => Promise<L>,
  failed: (error: unknown) => L,
): Promise<AsyncIterable<ImageProgress | L | undefined>> {
  const waiting = new Map<string, ImageProgress>();
  let wake = () => {};
  let changed = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const onProgress = (event: ImageProgress) => {
    const key = `${event.worker_id} ${event.stage} ${'layer' in event ? event.layer : ''}`;
    waiting.delete(key);
    waiting.set(key, event);
    wake();
  };
  let outcome: { last: L } | { error: unknown } | undefined;
  const result = work(onProgress).then(
    (last) => {
      outcome = { last };
    },
    (error: unknown) => {
      outcome = { error };
    },
  );
  const ended = () => outcome;
  await orAfter(clock, FIRST_MS, Promise.race([result, changed]), () => undefined);
  const early = ended();
  if (early && 'error' in early && waiting.size === 0) throw early.error;
  return (async function* (): AsyncGenerator<ImageProgress | L | undefined> {
    for (;;) {
      const events = [...waiting.values()];
      waiting.clear();
      changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      yield* events;
      if (waiting.size > 0) continue;
      const end = ended();
      if (end) return yield 'last' in end ? end.last : failed(end.error);
      const next = Promise.race([result, changed]).then(() => true);
      if (!(await orAfter(clock, SIGN_MS, next, () => false))) yield undefined;
    }
  })();
}
