// Passes input to a program, in order. The writer waits only when much is queued.
import type { LiveExec } from '../../control/api/execs.ts';

const WAITING_BYTES = 256 * 1024;

export interface StdinFeed {
  write(data: Buffer): Promise<void>;
  end(): void;
  /** Rejects when the program could not be given something; never resolves. */
  failed: Promise<never>;
}

export function stdinFeed(stdin: LiveExec['stdin']): StdinFeed {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);
  const then = (step: () => Promise<void>) => {
    last = last.then(step);
    last.catch(fail);
  };
  return {
    failed,
    write: async (data) => {
      waiting += data.length;
      then(async () => {
        await stdin.write(data);
        waiting -= data.length;
      });
      if (waiting >= WAITING_BYTES) await last;
    },
    end: () => then(async () => stdin.end()),
  };
}
