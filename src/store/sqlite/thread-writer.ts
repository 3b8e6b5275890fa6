// The thread's side of thread-link.ts.
import type { MessagePort } from 'node:worker_threads';
import type { Clock, Random } from '../../domain/ports.ts';
import { storeFailure } from './failures.ts';
import type { FromThread, ToThread } from './thread-link.ts';
import { type Outcome, toPlain } from './wire.ts';
import { openWriter, type Writer } from './writer.ts';

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
