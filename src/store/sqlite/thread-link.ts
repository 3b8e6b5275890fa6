// Runs the writer in its own thread. If the thread ends unexpectedly (a defect, or its memory limit), the outcome of
// sent requests is unknown, so none is acknowledged.

import { type MessagePort, Worker } from 'node:worker_threads';
import { ServiceError } from '../../domain/errors.ts';
import { fromPlain, type PlainFailure, toPlain } from '../../domain/plain-error.ts';
import type { Clock, Random } from '../../domain/ports.ts';
import { storeFailure } from './failures.ts';
import type { Outcome, Request } from './wire.ts';
import { openWriter, type Writer, type WriterOptions } from './writer.ts';
import type { WriterLink } from './writer-link.ts';

/** Limits of the thread, which holds one group of writes at a time. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8, stackSizeMb: 2 };

type ToThread = { id: number } & ({ open: WriterOptions } | { request: Request } | { close: true });

type FromThread = { id: number } & ({ outcomes: Outcome[] } | { failure: PlainFailure });

interface Pending {
  resolve(outcomes: Outcome[]): void;
  reject(error: Error): void;
}

/** `program` is a file that calls `serveWriter`. It is loaded at once. */
export function threadLink(program: string): WriterLink {
  const worker = new Worker(program, { name: 'svc-store', resourceLimits: LIMITS, execArgv: [], argv: [] });
  const pending = new Map<number, Pending>();
  let ids = 0;
  let end: Error | undefined;
  let closing: Promise<void> | undefined;
  const ask = (message: { open: WriterOptions } | { request: Request } | { close: true }) =>
    new Promise<Outcome[]>((resolve, reject) => {
      if (end) return reject(end);
      ids += 1;
      pending.set(ids, { resolve, reject });
      worker.postMessage({ id: ids, ...message } satisfies ToThread);
    });
  worker.on('message', (answer: FromThread) => {
    const { resolve, reject } = pending.get(answer.id)!;
    pending.delete(answer.id);
    if ('failure' in answer) reject(fromPlain(answer.failure));
    else resolve(answer.outcomes);
  });
  const lost = new Promise<Error>((resolve) => {
    const ended = (cause?: unknown) => {
      if (end) return;
      end = threadEnded(cause);
      for (const { reject } of pending.values()) reject(end);
      pending.clear();
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

/** Opens the writer that `port` requests and serves it until it is closed. */
export function serveWriter(port: MessagePort, deps: { clock: Clock; random: Random }): void {
  let writer: Writer | undefined;
  /** Requests in progress. The answer to `close` comes last because the thread ends with it. */
  const serving = new Set<Promise<void>>();
  const answer = async (message: ToThread): Promise<Outcome[]> => {
    if ('request' in message) return writer?.serve(message.request) ?? [];
    if ('open' in message) writer = openWriter(message.open, deps);
    else {
      writer?.close();
      // Operations that wait for another program's lock find the database closed when they retry.
      await Promise.all(serving);
    }
    return [];
  };
  port.on('message', (message: ToThread) => {
    const { id } = message;
    const answered = answer(message).then(
      (outcomes) => port.postMessage({ id, outcomes } satisfies FromThread),
      (error: unknown) =>
        port.postMessage({ id, failure: toPlain(storeFailure(error)) } satisfies FromThread),
    );
    if (!('request' in message)) return;
    serving.add(answered);
    void answered.then(() => serving.delete(answered));
  });
}
