// Sessions that are kept open for sandboxes, and their end.
import { expect, it } from 'vitest';
import type { SandboxIo } from '../../../src/agent/io.ts';
import { Sessions } from '../../../src/agent/sessions.ts';
import { fakeClock } from '../../support/fakes/ports.ts';

it('lets a sandbox end from inside before its session closes, only where it is to end', async () => {
  const done: string[] = [];
  const io = {
    closed: new Promise(() => undefined),
    endInside: async () => void done.push('end'),
    close: () => void done.push('close'),
  } as unknown as SandboxIo;
  const sessions = new Sessions({ clock: fakeClock(), attach: async () => io });
  const { signal } = new AbortController();
  for (const isForGood of [false, true]) {
    (await sessions.acquire({ id: 'sb-1' }, signal)).release();
    await sessions.end('sb-1', isForGood);
  }
  expect(done).toEqual(['close', 'end', 'close']);
});
