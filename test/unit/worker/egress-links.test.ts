// Links of control planes to the egress of a sandbox on a worker, without a sandbox: before an order, and at the end.
import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import { expect, it } from 'vitest';
import { serveEgress } from '../../../src/worker/egress-server.ts';
import { WorkerEgress, type WorkerEgressDeps } from '../../../src/worker/worker-egress.ts';
import type { WorkerSandbox } from '../../../src/worker/worker-sandboxes.ts';
import { fakeClock, silentLogger } from '../../support/fakes/ports.ts';

const ID = 'sb-a';
const sandbox = { record: { sandbox_id: ID } } as WorkerSandbox;

function link(): { egress: WorkerEgress; ours: Duplex; served: Promise<void>; lines: string[] } {
  const clock = fakeClock();
  const egress = new WorkerEgress({ clock, logger: silentLogger } as unknown as WorkerEgressDeps);
  const [ours, theirs] = duplexPair();
  const lines: string[] = [];
  ours.on('data', (data: Buffer) => lines.push(...data.toString().split('\n').filter(Boolean)));
  const served = serveEgress(theirs, sandbox, { egress, clock, logger: silentLogger });
  return { egress, ours, served, lines };
}

it('answers a call that needs an order with the reason, and lives on', async () => {
  const { ours, served, lines } = link();
  for (const [id, call] of [{ follow: true }, { log: {} }, { follow: true }].entries())
    ours.write(`${JSON.stringify({ id, ...call })}\n`);
  while (lines.length < 4) await once(ours, 'data');
  expect(lines.map((line) => JSON.parse(line)).filter(({ id }) => id !== undefined)).toEqual(
    [0, 1, 2].map((id) => ({
      id,
      error: { code: 'unavailable', message: 'This worker has no egress policy for the sandbox yet.' },
    })),
  );
  ours.end();
  await served;
});

it('ends with its sandbox, also before an order', async () => {
  const { egress, ours, served, lines } = link();
  egress.close('sb-other');
  ours.write('{"id":7}\n');
  while (!lines.some((line) => line.includes('"id":7'))) await once(ours, 'data');
  egress.close(ID);
  await served;
});
