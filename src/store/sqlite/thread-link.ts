// Runs the writer in its own thread. If the thread ends unexpectedly (a defect, or its memory limit), the outcome of
// sent requests is unknown, so none is acknowledged.
import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../domain/errors.ts';
import { fromPlain, type Outcome, type PlainFailure, type Request } from './wire.ts';
import type { WriterOptions } from './writer.ts';
import type { WriterLink } from './writer-link.ts';

/** Limits of the thread, which holds one group of writes at a time. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8, stackSizeMb: 2 };

export type ToThread = { id: number } & ({ open: WriterOptions } | { request: Request } | { close: true });

export type FromThread = { id: number } & ({ outcomes: Outcome[] } | { failure: PlainFailure });

interface Asked {
  resolve(outcomes: Outcome[]): void;
  reject(error: Error): void;
}

/** `program` is a file that calls `serveWriter` (thread-writer.ts). It is loaded at once. */
export function threadLink(program: string): WriterLink {
  const worker = new Worker(program, { name: 'svc-store', resourceLimits: LIMITS, execArgv: [], argv: [] });
  const asked = new Map<number, Asked>();
  let ids = 0;
  let end: Error | undefined;
  let closing: Promise<void> | undefined;
  const ask = (message: { open: WriterOptions } | { request: Request } | { close: true }) =>
    new Promise<Outcome[]>((resolve, reject) => {
      if (end) return reject(end);
      ids += 1;
      asked.set(ids, { resolve, reject });
      worker.postMessage({ id: ids, ...message } satisfies ToThread);
    });
  worker.on('message', (answer: FromThread) => {
    const { resolve, reject } = asked.get(answer.id)!;
    asked.delete(answer.id);
    if ('failure' in answer) reject(fromPlain(answer.failure));
    else resolve(answer.outcomes);
  });
  const lost = new Promise<Error>((resolve) => {
    const ended = (cause?: unknown) => {
      if (end) return;
      end = threadEnded(cause);
      for (const { reject } of asked.values()) reject(end);
      asked.clear();
      if (!closing) resolve(end);
    };
    worker.once('error', ended);
    worker.once('exit', () => ended());
  });
  const close = async () => {
    await ask({ close: true }).catch(() => undefined);
    await worker.terminate();
  };
  return {
    lost,
    open: async (open) => void (await ask({ open })),
    send: (request) => ask({ request }),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

const threadEnded = (cause: unknown) =>
  new ServiceError('unavailable', 'The database writer thread has ended unexpectedly.', {
    cause,
    remedy: 'Start the service again; the log says why it ended.',
  });
