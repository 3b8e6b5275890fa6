// Gates of sandboxes: which policy they apply when rows, ceilings and sessions change, and that nothing stays open.
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { SandboxIo } from '../../../src/agent/io.ts';
import { Sessions } from '../../../src/agent/sessions.ts';
import type { GatedSandbox } from '../../../src/control/runtime/applied-egress.ts';
import type { EgressGatesDeps } from '../../../src/control/runtime/egress-entry.ts';
import { EgressGates } from '../../../src/control/runtime/egress-gates.ts';
import type { Runtime } from '../../../src/control/runtime/runtimes.ts';
import { openEgress } from '../../../src/egress/open-egress.ts';
import { realClock } from '../../../src/host/clock.ts';
import { realRandom } from '../../../src/host/random.ts';
import type { EgressCeiling, EgressPolicy } from '../../../src/schema/egress.ts';
import type { Quota } from '../../../src/schema/quota.ts';
import type { SandboxRecord } from '../../../src/store/store.ts';
import { testConfig } from '../../support/config.ts';
import { type FakeClock, fakeClock, silentLogger } from '../../support/fakes/ports.ts';
import { proxyPort, target, textUntil, textUntilEnd } from '../../support/servers/egress-side.ts';
import { until } from '../../support/until.ts';

const [ONE, OTHER] = ['93.184.216.34:2222', '93.184.216.35:2222'];
const forever = new AbortController().signal;

const row = (spawn: EgressPolicy) =>
  ({
    ...{ id: 'sb-000000000001', owner_id: 'ann', worker_id: 'local', state: 'running', epoch: 1 },
    egress: { mode: 'proxy', spawn },
  }) as unknown as SandboxRecord & GatedSandbox;

interface Side {
  gates: EgressGates;
  clock: FakeClock;
  /** What the store says; replace a function to make it slow or fail. */
  store: {
    row: SandboxRecord | undefined;
    ceiling: EgressCeiling | undefined;
    wait(what: 'row' | 'quota'): Promise<void>;
  };
  sizes(): Readonly<Record<string, number>>;
  program(to: string): Promise<{ answer: string; ended(): Promise<string> }>;
  sessions: { io: SandboxIo; port: number; end(): void }[];
}

async function side(more: Partial<EgressGatesDeps> = {}): Promise<Side> {
  const clock = fakeClock();
  const port = await target((socket) => void socket.resume().on('end', () => socket.end()));
  const store: Side['store'] = { row: undefined, ceiling: undefined, wait: async () => undefined };
  const sessions: Side['sessions'] = [];
  const egress = openEgress({
    settings: () => ({
      ...{ proxy_port: 7424, connect_timeout: 5000, idle_timeout: 60_000, max_connections: 100 },
      ...{ new_connections_per_minute: 1200, resolver: 'system' },
    }),
    clock: realClock(),
    random: realRandom(),
    onEvent: () => undefined,
    dial: async (address) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      await once(socket, 'connect');
      return { socket, peer: address };
    },
    ownAddresses: () => [],
  });
  const attach = async () => {
    const made = await proxyPort();
    sessions.push(made);
    return Object.assign(made.io, { close: made.end });
  };
  const deps: EgressGatesDeps = {
    egress,
    config: testConfig({}).egress,
    sandboxes: {
      get: async () => {
        const { row: found } = store;
        await store.wait('row');
        return found;
      },
      inStates: async () => (store.row ? [store.row] : []),
    } as EgressGatesDeps['sandboxes'],
    quotas: {
      get: async () => {
        const { ceiling } = store;
        await store.wait('quota');
        return ceiling && ({ egress: ceiling } as Quota);
      },
    },
    credentials: { of: async () => [], onChange: () => undefined },
    authorities: { all: () => Promise.reject(new Error('not needed')) },
    conceal: () => () => undefined,
    sessions: new Sessions<Runtime>({ clock, attach }),
    openLink: () => Promise.reject(new Error('there are no workers')),
    roles: { holds: () => true, watch: () => undefined },
    publisher: { note: () => undefined } as unknown as EgressGatesDeps['publisher'],
    clock,
    logger: silentLogger,
    ...more,
  };
  const gates = new EgressGates(deps);
  onTestFinished(() => gates.stop());
  const program = async (to: string) => {
    const socket = connect({ port: sessions.at(-1)?.port ?? 0, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(`CONNECT ${to} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const answer = (await textUntil(socket, '\r\n\r\n')).slice(9, 12);
    return { answer, ended: () => textUntilEnd(socket) };
  };
  return { gates, clock, store, sizes: () => egress.diagnostics(), program, sessions };
}

it('applies a changed ceiling of the owner to open connections', async () => {
  const { gates, store, program } = await side();
  await gates.open(row({ allow: [ONE, OTHER] }), forever);
  const [one, other] = [await program(ONE), await program(OTHER)];
  expect([one.answer, other.answer]).toEqual(['200', '200']);
  store.ceiling = { allow: [OTHER] };
  await gates.ownerChanged('bob');
  expect(gates.totals().open).toBe(2);
  await gates.ownerChanged('ann');
  expect(gates.totals().open).toBe(1);
  expect(await one.ended()).toBe('');
  expect((await program(ONE)).answer).toBe('403');
});

it('ends with the newest policy, whichever change reads the store first', async () => {
  const { gates, store, program } = await side();
  await gates.open(row({ allow: [ONE] }), forever);
  let release = () => {};
  const slow = new Promise<void>((resolve) => {
    release = resolve;
  });
  store.wait = () => slow;
  const owner = gates.ownerChanged('ann');
  const change = gates.change(row({ allow: [OTHER] }));
  release();
  await Promise.all([owner, change]);
  expect([(await program(ONE)).answer, (await program(OTHER)).answer]).toEqual(['403', '200']);
});

it('cuts the sandbox off while its policy cannot be read, and retries', async () => {
  const { gates, clock, store, program } = await side();
  await gates.open(row({ allow: [ONE] }), forever);
  const open = await program(ONE);
  store.wait = async () => {
    throw new Error('the database does not answer');
  };
  await expect(gates.change(row({ allow: [ONE, OTHER] }))).rejects.toThrow('does not answer');
  expect(await open.ended()).toBe('');
  expect((await program(ONE)).answer).toBe('403');
  await gates.ownerChanged('ann');
  store.wait = async () => undefined;
  await clock.advance(1000);
  expect((await program(OTHER)).answer).toBe('200');
});

it('adopts the sandboxes of a restart; an older row that is read meanwhile does not win', async () => {
  const { gates, store, program, sessions } = await side();
  store.row = row({ allow: [ONE] });
  let release = () => {};
  const slow = new Promise<void>((resolve) => {
    release = resolve;
  });
  store.wait = (what) => (what === 'row' ? slow : Promise.resolve());
  await gates.start();
  await gates.change(row({ allow: [OTHER] }));
  release();
  await until('the session', () => sessions.length > 0);
  await until('the port', async () => (await program(OTHER)).answer === '200');
  expect((await program(ONE)).answer).toBe('403');
});

it('serves a sandbox whose programs wait for it; a policy that comes first wins', async () => {
  const { gates, store, program, sessions } = await side();
  store.row = row({ allow: [ONE] });
  expect(await gates.ports(row({ allow: [ONE] }))).toEqual({ proxy_port: 7424 });
  const held = gates.hold(row({ allow: [ONE] }));
  expect(sessions).toHaveLength(0);
  const found = gates.reach(row({ allow: [ONE] }));
  store.row = row({ allow: [OTHER] });
  await gates.change(row({ allow: [OTHER] }));
  // Answered once it is served.
  expect(sessions).toHaveLength(1);
  expect((await (await found)?.check('93.184.216.34', 2222))?.decision).toBe('denied');
  await held;
  expect([(await program(ONE)).answer, (await program(OTHER)).answer]).toEqual(['403', '200']);
});

it('serves again after its session ended, until the sandbox ends', async () => {
  const { gates, clock, store, program, sessions, sizes } = await side();
  store.row = row({ allow: [ONE] });
  await gates.open(row({ allow: [ONE] }), forever);
  sessions[0]?.end();
  await until('the next session', async () => {
    await clock.advance(1000);
    return sessions.length > 1;
  });
  expect((await program(ONE)).answer).toBe('200');
  store.row = { ...row({}), state: 'destroying' as SandboxRecord['state'] };
  sessions[1]?.end();
  await until('the end', async () => {
    await clock.advance(1000);
    return sizes().gates === 0;
  });
  expect(gates.gate('sb-000000000001')).toBeUndefined();
});

it('closes with the sandbox and with the server', async () => {
  const { gates, program, sizes } = await side();
  await gates.open(row({ allow: [ONE] }), forever);
  const first = await program(ONE);
  gates.close('sb-000000000001');
  expect(await first.ended()).toBe('');
  expect(sizes()).toMatchObject({ gates: 0, open: 0, clients: 0 });
  await gates.open(row({ allow: [ONE] }), forever);
  const second = await program(ONE);
  await gates.stop();
  expect(await second.ended()).toBe('');
  await expect(gates.open(row({ allow: [ONE] }), forever)).rejects.toMatchObject({ code: 'not_implemented' });
  expect(gates.totals()).toMatchObject({ allowed: 2, open: 0 });
});

it('never replaces a newer policy on a worker by an older one that another server read before', async () => {
  const applied: unknown[] = [];
  const report = () => {
    const counters = { allowed: 0, denied: 0, failed: 0, open: 0, sent_bytes: 0, received_bytes: 0 };
    return { counters, missing: [], intercepts: false, orders: applied.length };
  };
  const openLink: EgressGatesDeps['openLink'] = async (_, onNews) => {
    onNews({ report: report() });
    return {
      closed: new Promise(() => undefined),
      close: () => undefined,
      call: async ({ apply, after }) => {
        if (apply && after !== applied.length) return { outrun: true, report: report() };
        if (apply) applied.push(apply.spawn?.allow);
        return { report: report() };
      },
    };
  };
  const far = (policy: EgressPolicy) => ({ ...row(policy), worker_id: 'far' });
  const [one, other] = [await side({ openLink }), await side({ openLink })];
  one.store.row = far({ allow: ['old.example'] });
  await one.gates.open(far({ allow: ['old.example'] }), forever);
  other.store.row = far({ allow: ['old.example'] });
  await other.gates.open(far({ allow: ['old.example'] }), forever);
  let release = () => {};
  const slow = new Promise<void>((resolve) => {
    release = resolve;
  });
  // It has read the old policy, and hangs.
  one.store.wait = async (what) => (what === 'row' ? slow : undefined);
  const owner = one.gates.ownerChanged('ann');
  const changed = far({ allow: ['new.example'] });
  [one.store.row, other.store.row] = [changed, changed];
  await other.gates.change(changed);
  release();
  await owner;
  const since = applied.findIndex((allow) => String(allow) === 'new.example');
  expect(since).toBeGreaterThan(0);
  expect(new Set(applied.slice(since).map(String))).toEqual(new Set(['new.example']));
});
