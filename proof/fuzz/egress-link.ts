// What the two ends of a link about outgoing connections read from each other: whatever comes, an order holds as a whole or not at
// all, and nothing of another shape is passed on.
import { type Duplex, duplexPair } from 'node:stream';
import type { SandboxIo } from '../../src/agent/io.ts';
import type { EgressNews } from '../../src/providers/provider.ts';
import { RemoteEgressLink } from '../../src/providers/remote/egress-link.ts';
import { validator } from '../../src/schema/validator.ts';
import { EgressAnswer } from '../../src/schema/worker-egress.ts';
import { serveEgress } from '../../src/worker/egress-server.ts';
import type { WorkerSandbox } from '../../src/worker/worker-sandboxes.ts';
import { fakeClock, silentLogger } from '../../test/support/fakes/ports.ts';
import { workerEgress } from '../../test/support/servers/worker-egress.ts';
import type { Chance } from './chance.ts';
import { pieces } from './hostile.ts';
import { type Read, require, type Sample } from './reading.ts';

export const EGRESS_LINK_FORMATS: Record<string, readonly [Sample, Read]> = {
  'calls about egress': [calls, holdsWholeOrders],
  'answers about egress': [answers, passesItsShape],
};

const ID = 'sb-fuzzed';
const [ALLOWED, DENIED] = ['allowed.example.com', 'denied.example.com'];

const order = {
  server: { allow: [], deny: [DENIED], allow_private: [], allow_wide_rules: false, groups: {} },
  ...{ proxy_port: 7424, mode: 'proxy', credentials: [], authorities: [] },
  spawn: { allow: [ALLOWED, DENIED], max_connections: 7 },
};

function calls(chance: Chance): Buffer {
  const one = (id: number) =>
    chance.pick([
      { id, apply: order },
      { id, apply: order, after: chance.below(3) },
      { id, check: { host: ALLOWED, port: 443 } },
      { id, log: { limit: 5 }, follow: true },
      { id, beat: true },
    ]);
  return lines(Array.from({ length: 1 + chance.below(4) }, (_, id) => one(id)));
}

const lines = (all: readonly object[]) =>
  Buffer.from(all.map((each) => `${JSON.stringify(each)}\n`).join(''));

/** What the server of the order denies stays denied, also when another part of the order was damaged. */
async function holdsWholeOrders(chance: Chance, bytes: Buffer): Promise<void> {
  const clock = fakeClock();
  const resolver = { lookup: async () => ({ addresses: ['93.184.216.34'], ttlMs: 0 }) };
  const egress = workerEgress(clock, io, resolver);
  const [ours, theirs] = duplexPair();
  ours.on('error', () => undefined).resume();
  const sandbox = { record: { sandbox_id: ID } } as WorkerSandbox;
  const served = serveEgress(theirs, sandbox, { egress, clock, logger: silentLogger });
  await write(chance, ours, bytes);
  const isOpen = egress.report(ID, { send: () => undefined, end: () => undefined }) !== undefined;
  if (isOpen && bytes.toString().split('\n').every(deniesStill)) {
    const { decision } = await egress.gate(ID).check(DENIED, 443);
    require(decision === 'denied', 'a target that the order denies is allowed');
  }
  ours.destroy();
  theirs.destroy();
  await served;
  await egress.closeAll();
}

/** Damage may have made an order that denies something else. */
function deniesStill(line: string): boolean {
  try {
    const { apply } = JSON.parse(line) as { apply?: { server?: { deny?: unknown } } };
    return apply === undefined || JSON.stringify(apply.server?.deny) === JSON.stringify([DENIED]);
  } catch {
    return true;
  }
}

/** Programs of the sandbox never connect. */
const io = {
  gate: {
    open: async () => ({ proxy: true, gate: true, missing: [] }),
    accept: (signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  },
  closed: new Promise(() => undefined),
} as unknown as SandboxIo;

function answers(chance: Chance): Buffer {
  const counters = { allowed: 1, denied: 2, failed: 0, open: 0, sent_bytes: 5, received_bytes: 6 };
  const report = { counters, missing: [8080], intercepts: false, orders: 1 };
  const target = { host: ALLOWED, port: 443, reason: 'rule_allow' };
  return lines([
    chance.pick([{ report }, { id: 1, report }, { id: 1, outrun: true, report }, {}]),
    chance.pick([
      { event: { ...target, type: 'egress.denied', count: 3 } },
      { id: 1, error: { code: 'unavailable', message: 'x' } },
      { id: 1, check: { ...target, decision: 'allowed', addresses: ['93.184.216.34'] } },
    ]),
  ]);
}

const shapeFault = validator(EgressAnswer, 'news');

async function passesItsShape(chance: Chance, bytes: Buffer): Promise<void> {
  const [ours, theirs] = duplexPair();
  ours.on('error', () => undefined).resume();
  const faults: string[] = [];
  const onNews = (news: EgressNews) => {
    const fault = shapeFault(news);
    if (fault !== undefined) faults.push(fault);
  };
  const link = new RemoteEgressLink(theirs, {
    worker: { id: 'far' },
    clock: fakeClock(),
    logger: silentLogger,
    onNews,
  });
  const answer = link.call({}).then(
    (each) => shapeFault(each),
    () => undefined,
  );
  await write(chance, ours, bytes);
  link.close();
  ours.destroy();
  await link.closed;
  require((await answer) === undefined && faults.length === 0, `an answer of another shape: ${faults[0]}`);
}

async function write(chance: Chance, to: Duplex, bytes: Buffer): Promise<void> {
  for (const piece of pieces(chance, bytes)) if (!to.destroyed) to.write(piece);
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
}
