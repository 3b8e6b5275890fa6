// Links of control planes to the egress of a sandbox on a worker, without a sandbox: before an order, and at the end.
import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import type { EgressAnswer } from '../../../src/schema/worker-egress.ts';
import { serveEgress } from '../../../src/worker/egress-server.ts';
import { WorkerEgress, type WorkerEgressDeps } from '../../../src/worker/worker-egress.ts';
import type { WorkerSandbox } from '../../../src/worker/worker-sandboxes.ts';
import { type FakeClock, fakeClock, silentLogger } from '../../support/fakes/ports.ts';
import { proxyPort } from '../../support/servers/egress-side.ts';
import { workerEgress } from '../../support/servers/worker-egress.ts';

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

const orderFor = (name: string) => ({
  server: { allow: [], deny: [], allow_private: [], allow_wide_rules: false, groups: {} },
  ...{ proxy_port: 7424, mode: 'proxy', credentials: [], authorities: [] },
  spawn: { allow: [name] },
});

/** A worker with the sandbox, and links to it. */
async function worker(): Promise<{
  clock: FakeClock;
  egress: WorkerEgress;
  open(): { call(ask: object): Promise<EgressAnswer>; served: Promise<void> };
}> {
  const clock = fakeClock();
  const { io, end } = await proxyPort();
  onTestFinished(end);
  const egress = workerEgress(clock, io);
  onTestFinished(() => egress.closeAll());
  const open = () => {
    const [ours, theirs] = duplexPair();
    const answers = new Map<number, (answer: EgressAnswer) => void>();
    let rest = '';
    ours.on('data', (data: Buffer) => {
      const lines = (rest + data.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const answer of lines.map((line): EgressAnswer => JSON.parse(line)))
        answers.get(answer.id ?? -1)?.(answer);
    });
    const served = serveEgress(theirs, sandbox, { egress, clock, logger: silentLogger });
    let last = 0;
    const call = (ask: object) => {
      last += 1;
      ours.write(`${JSON.stringify({ id: last, ...ask })}\n`);
      return new Promise<EgressAnswer>((resolve) => answers.set(last, resolve));
    };
    return { call, served };
  };
  return { clock, egress, open };
}

it('does not apply an order that is older than the last one of another control plane', async () => {
  const { egress, open } = await worker();
  const [one, other] = [open(), open()];
  expect(await one.call({ apply: orderFor('one.example'), after: 0 })).toMatchObject({
    report: { orders: 1 },
  });
  const late = await other.call({ apply: orderFor('old.example'), after: 0 });
  expect(late).toMatchObject({ outrun: true, report: { orders: 1 } });
  const host = async (name: string) => (await egress.gate(ID).check(name, 443)).reason;
  expect(await host('old.example')).toBe('not_allowed');
  expect(await host('one.example')).not.toBe('not_allowed');
  const next = await other.call({ apply: orderFor('next.example'), after: 1 });
  expect([next.outrun, next.report?.orders]).toEqual([undefined, 2]);
  expect(await one.call({ apply: orderFor('one.example'), after: 1 })).toMatchObject({ outrun: true });
  // A control plane of an earlier version does not count.
  expect(await one.call({ apply: orderFor('one.example') })).toMatchObject({ report: { orders: 3 } });
});

it('ends a link whose control plane is silent after a beat', async () => {
  const { clock, open } = await worker();
  const link = open();
  await link.call({ beat: true });
  await clock.advance(20_000);
  await link.call({ log: {} });
  await clock.advance(20_000);
  await link.call({ beat: true });
  await clock.advance(30_000);
  await link.served;
});
