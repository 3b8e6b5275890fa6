// Keeps the process alive while a check runs. Deadlines and connections to engines do not, so that a server can end; a
// check that waits for nothing else would end the program in its middle.
import type { Clock } from '../../domain/ports.ts';

const LONGEST_MS = 10 * 60_000;

export async function keepProcessAlive<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  clock.sleep(LONGEST_MS, over.signal).catch(() => undefined);
  try {
    return await work();
  } finally {
    over.abort();
  }
}
