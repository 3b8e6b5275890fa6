// A console that is followed ends without a word with its sandbox, and with an error when it was lost.
import { expect, it } from 'vitest';
import { sandboxLost } from '../../../../src/agent/fault.ts';
import { logs } from '../../../../src/control/access/logs.ts';
import type { SandboxAccess } from '../../../../src/control/access/session-access.ts';
import { endedSandbox } from '../../../../src/control/records/views.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { api, forever } from '../../../support/servers/control.ts';

/** A sandbox whose console breaks off after a line. */
function broken(hasEnded: boolean) {
  async function* console() {
    yield 'line';
    throw sandboxLost();
  }
  const released: unknown[] = [];
  const access = {
    find: async () => ({}),
    open: async () => ({ io: { console }, release: (error: unknown) => released.push(error) }),
    explainFailure: (_: string, work: () => Promise<unknown>) =>
      work().catch((error) => {
        throw hasEnded ? endedSandbox({ end_reason: 'destroyed' }) : error;
      }),
  };
  return { logs: logs({ access: access as unknown as SandboxAccess, clock: fakeClock() }), released };
}

async function followed(console: ReturnType<typeof broken>): Promise<unknown[]> {
  const lines: unknown[] = [];
  for await (const line of await console.logs.follow('sb-1', 10, api, forever)) lines.push(line);
  return lines;
}

it('a followed console ends with its sandbox', async () => {
  const console = broken(true);
  expect(await followed(console)).toEqual([{ line: 'line' }]);
  expect(console.released).toHaveLength(1);
});

it('a followed console reports a lost connection', async () => {
  const console = broken(false);
  await expect(followed(console)).rejects.toMatchObject({ code: 'unavailable' });
  expect(console.released).toHaveLength(1);
});
