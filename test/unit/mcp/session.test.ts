// The sandbox of a session over stdio, which calls at the same time share.
import { expect, it } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { StdioSession } from '../../../src/mcp/session.ts';

function spawns() {
  const seen: AbortSignal[] = [];
  let finish: (id: string) => void = () => undefined;
  const client = {
    spawn: (_: unknown, { signal }: { signal: AbortSignal }) => {
      seen.push(signal);
      return new Promise((resolve, reject) => {
        finish = (id) => resolve({ id });
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    },
    get: async () => ({ state: 'running' }),
    listAll: async () => [],
  } as unknown as Client;
  return { client, seen, finish: (id: string) => finish(id) };
}

it('is created for all calls, whichever of them is cancelled', async () => {
  const { client, seen, finish } = spawns();
  const session = new StdioSession('s', false);
  const first = new AbortController();
  const cancelled = session.sandbox(undefined, { client, signal: first.signal });
  const shared = session.sandbox(undefined, { client, signal: new AbortController().signal });
  first.abort(new Error('cancelled'));
  await expect(cancelled).rejects.toThrow('cancelled');
  finish('sb-1');
  expect(await shared).toBe('sb-1');
  expect(await session.sandbox(undefined, { client, signal: new AbortController().signal })).toBe('sb-1');
  expect(seen).toHaveLength(1);
});

it('is not created any more when the session ends', async () => {
  const { client, seen } = spawns();
  const session = new StdioSession('s', false);
  const call = session.sandbox(undefined, { client, signal: new AbortController().signal });
  const failed = expect(call).rejects.toMatchObject({ code: 'unavailable' });
  await session.end(client);
  await failed;
  expect(seen[0]?.aborted).toBe(true);
});
