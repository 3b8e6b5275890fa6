// The rows of one group: measured in this process, or in one of their own.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Group } from './group.ts';
import { measureRow, type Pair, type Row } from './row.ts';

export interface GroupRequest {
  root: string;
  /** The rows of the group that are wanted. */
  ids: readonly string[];
  signal?: AbortSignal | undefined;
  started?: ((pair: Pick<Pair, 'id' | 'name'>) => void) | undefined;
  ended(row: Row): void;
}

/** Rejects with what broke; once `signal` aborts, when everything is cleared away. */
export async function measureHere(group: Group, request: GroupRequest): Promise<void> {
  const { root, ids, signal, started, ended } = request;
  await group.run(root, async (pair) => {
    if (!ids.includes(pair.id)) return;
    started?.({ id: pair.id, name: pair.name });
    ended(await measureRow(pair, signal));
  });
}

/** What the process of a group sends. */
export type GroupMessage = { started: Pick<Pair, 'id' | 'name'> } | { row: Row } | { broke: string };

/**
 * The same in a process of its own (group.child.ts): in one that has measured for half an hour, what is measured inside took twice
 * the processor time (P38-processor, P50-10000).
 */
export async function measureApart({ ids }: Group, request: GroupRequest): Promise<void> {
  const { root, signal, started, ended } = request;
  const asked = JSON.stringify({ root, group: ids[0], ids: request.ids });
  const child = fork(join(root, 'dist/bench/group.child.js'), [asked]);
  let broke: string | undefined;
  child.on('message', (message: GroupMessage) => {
    if ('started' in message) started?.(message.started);
    else if ('row' in message) ended(message.row);
    else broke = message.broke;
  });
  // The child clears away when it loses us, and so it does when we are killed.
  const stop = () => child.connected && child.disconnect();
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  const status = await new Promise<number | string | null>((resolve, reject) => {
    child.once('error', reject).once('exit', (code, name) => resolve(name ?? code));
  }).finally(() => signal?.removeEventListener('abort', stop));
  signal?.throwIfAborted();
  if (broke !== undefined) throw new Error(broke);
  if (status !== 0) throw new Error(`the process that measured ended with ${status}`);
}
