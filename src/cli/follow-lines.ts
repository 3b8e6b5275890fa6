// Lines that are printed as they come, until their source ends or Ctrl-C.
import { once } from 'node:events';

/** Resolves when it is over; an interruption is an ordinary end. */
export async function followLines(
  open: (signal: AbortSignal) => AsyncIterable<string>,
  show: (line: string) => string,
): Promise<void> {
  const interruption = new AbortController();
  const stop = () => interruption.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    for await (const line of open(interruption.signal))
      if (!process.stdout.write(`${show(line)}\n`)) await once(process.stdout, 'drain');
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
