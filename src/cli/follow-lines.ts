// Prints lines as they arrive, until their source ends or Ctrl-C.
import { once } from 'node:events';
import { interruptible } from './interruption.ts';

/** Resolves at the end of the lines; Ctrl-C is a normal end. */
export function followLines(
  open: (signal: AbortSignal) => AsyncIterable<string>,
  show: (line: string) => string,
): Promise<void> {
  return interruptible(
    async (signal) => {
      for await (const line of open(signal))
        if (!process.stdout.write(`${show(line)}\n`)) await once(process.stdout, 'drain');
    },
    () => undefined,
  );
}
