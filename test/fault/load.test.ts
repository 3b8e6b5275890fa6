// The server killed with SIGKILL under everything at once: spawns that wait, ready sandboxes, VMs of the pool. Started
// again, now with the pool and now without, it finds all that was promised and nothing else, and never had too much.
import { afterEach, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { AdmissionDecision } from '../../src/schema/admission.ts';
import type { QuotaUsage } from '../../src/schema/quota.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { NOTHING, remains, runtimes } from '../support/checks/auditor.ts';
import { type Ledger, readLedger } from '../support/checks/ledger.ts';
import { seededRandom } from '../support/fakes/ports.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { inContainers, type Runtime } from '../support/hosts/matrix.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

countFaults('server killed');

const USERS = ['ann', 'bob', 'cid', 'dan'];
/** Far more clients than places: most of them wait at any moment. */
const [CAP, OWN, CLIENTS, WARM] = [6, 3, 16, 2];
const LIMITS = {
  SVC_DEFAULTS_MAX_SANDBOXES: String(CAP),
  SVC_DEFAULTS_MAX_SANDBOXES_PER_OWNER: String(OWN),
  SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
  SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '120s',
};
const SHARED = { SVC_POOL_ENABLED: 'true', SVC_POOL_MAX_VMS: '2', SVC_POOL_MAX_USERS_PER_VM: '2' };
/** Two looks of the comparison. */
const CONVERGE_MS = 90_000;

interface Journal {
  created: Set<string>;
  destroyAsked: Set<string>;
  destroyed: Set<string>;
  /** Answers that nobody should get while the server lives. */
  surprises: unknown[];
}

describeWith(['root', 'unshare'], 'kill -9 under load [unshare]', () => {
  const own = {
    SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
    SVC_POOL_IMAGE: 'host',
    SVC_POOL_MEMORY_MB: '256',
  };
  killedUnderLoad({ env: own, image: 'host', modes: [{}, SHARED, {}, SHARED, SHARED, {}] });
});
inContainers(['runc'], { needs: [], name: 'kill -9 under load' }, ({ env }: Runtime) => {
  killedUnderLoad({ env, image: IMAGES.busybox, modes: [{}, {}, {}] });
});

interface Loaded {
  env: Record<string, string>;
  image: string;
  /** More of the environment in each round: with the pool, or each sandbox by itself. */
  modes: readonly Record<string, string>[];
}

function killedUnderLoad({ env, image, modes }: Loaded): void {
  let server: TestServer | undefined;
  afterEach(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
  });

  it('loses, leaks and doubles no sandbox, and admits none beyond a limit', async () => {
    const journal: Journal = {
      ...{ created: new Set(), destroyAsked: new Set(), destroyed: new Set(), surprises: [] },
    };
    const random = seededRandom(41);
    const start = async (mode: Record<string, string>, home?: string) =>
      startServer({ env: { ...env, ...LIMITS, ...mode }, ...(home !== undefined && { home }) });
    server = await start(modes[0] ?? {});
    const template = { name: 'warm', image, prewarm: WARM, setup: ['echo ready > made'] };
    const made = await as(server, 'ann').call('POST', '/templates', template);
    expect(made.status).toBe(201);
    for (const round of modes.keys()) {
      const { home } = server;
      const goal = journal.created.size + 6 + ((random.bytes(1)[0] ?? 0) % 12);
      const load = Promise.all(Array.from({ length: CLIENTS }, (_, n) => churn(server!, n, journal)));
      await until('work done and spawns that wait', async () =>
        journal.created.size >= goal && (await depth(server!)) > 0 ? true : undefined,
      );
      await server.kill();
      await load;
      auditHistory(readLedger(home));
      server = await start(modes[round + 1] ?? {}, home);
      const isShared = modes[round + 1]?.SVC_POOL_ENABLED === 'true';
      await settled(server, isShared ? 0 : WARM);
      await check(server, journal);
      await leaveSome(server, journal);
    }
    await clearAway(server, journal);
  });
}

/** What one user does until the server is gone: spawns in one way or the other, uses, destroys. */
async function churn(server: TestServer, n: number, journal: Journal): Promise<void> {
  const client = as(server, USERS[n % USERS.length] ?? '');
  try {
    for (let turn = n; ; turn++) {
      const path = turn % 2 === 0 ? '/sandboxes' : '/templates/warm/spawn';
      const { status, body } = await client.call<Sandbox>('POST', path, { ttl: '1h' });
      if (status !== 201) {
        journal.surprises.push(body);
        return;
      }
      if (journal.created.has(body.id)) journal.surprises.push(`${body.id} was given twice`);
      journal.created.add(body.id);
      await client.sh(body.id, `echo ${body.id} > name`);
      journal.destroyAsked.add(body.id);
      await client.destroy(body.id);
      journal.destroyed.add(body.id);
    }
  } catch {
    // The connection ended with the server.
  }
}

/** Every row runs or is gone, `warm` are ready as far as there is room, and nobody waits who was not answered. */
async function settled(server: TestServer, warm: number): Promise<void> {
  const agree = () => {
    const ledger = readLedger(server.home);
    const apart = ledger.live.filter(({ vm_id }) => vm_id === null).length;
    const used = new Set(ledger.live.map(({ vm_id }) => vm_id).filter((vm_id) => vm_id !== null)).size;
    return (
      ledger.live.every(({ state }) => state === 'running') &&
      ledger.warm === Math.min(warm, CAP - ledger.live.length) &&
      ledger.vms === used &&
      runtimes(server).length === apart + ledger.warm + used
    );
  };
  await until('rows and runtimes to agree', agree, CONVERGE_MS).catch((error: unknown) => {
    const state = { ledger: readLedger(server.home), runtimes: runtimes(server) };
    throw new Error(`${error}\n${JSON.stringify(state, undefined, 1)}`);
  });
  expect(await depth(server)).toBe(0);
}

async function check(server: TestServer, journal: Journal): Promise<void> {
  expect(journal.surprises).toEqual([]);
  const ledger = readLedger(server.home);
  auditHistory(ledger);
  const live = new Map(ledger.live.map((row) => [row.id, row]));
  for (const id of journal.destroyed) expect(live.has(id), `${id} was destroyed`).toBe(false);
  for (const id of journal.created)
    if (!journal.destroyAsked.has(id)) expect(live.has(id), `${id} was promised`).toBe(true);
  for (const { id, owner_id } of ledger.live) {
    const { stdout } = await as(server, owner_id).sh(id, 'cat name 2>/dev/null; true');
    expect(['', `${id}\n`]).toContain(stdout);
  }
  for (const user of USERS) {
    const { body } = await as(server, user).call<QuotaUsage>('GET', `/quotas/${user}/usage`);
    expect(body.active_sandboxes).toBe(ledger.live.filter(({ owner_id }) => owner_id === user).length);
  }
}

/** So that the next round has some that lived through it, of both kinds, and room. */
async function leaveSome(server: TestServer, journal: Journal): Promise<void> {
  const { live } = readLedger(server.home);
  const kept = [live.find(({ vm_id }) => vm_id === null), live.find(({ vm_id }) => vm_id !== null)];
  for (const row of live.filter((one) => !kept.includes(one))) {
    journal.destroyAsked.add(row.id);
    await as(server, row.owner_id).destroy(row.id);
    journal.destroyed.add(row.id);
  }
}

function auditHistory({ live, counted, most, twice, sound }: Ledger): void {
  expect({ sound, twice, counted }).toEqual({ sound: true, twice: [], counted: live.length });
  expect(most.all).toBeLessThanOrEqual(CAP);
  expect(most.own).toBeLessThanOrEqual(OWN);
}

async function clearAway(server: TestServer, { created }: Journal): Promise<void> {
  expect((await as(server, 'ann').call('DELETE', '/templates/warm')).status).toBe(200);
  const { home } = server;
  const all = readLedger(home).live;
  await Promise.all(all.map(({ id, owner_id }) => as(server, owner_id).destroy(id)));
  await until('nothing runs', () => runtimes(server).length === 0, CONVERGE_MS);
  const ids = [...created, ...all.map(({ id }) => id)];
  await until('nothing is known', () => readLedger(home).vms + readLedger(home).warm === 0, CONVERGE_MS);
  expect(remains(server, ids)).toEqual(NOTHING);
  expect(readLedger(home)).toMatchObject({ live: [], counted: 0, twice: [], sound: true });
}

const as = (server: TestServer, user: string): Api => api(server.url, { 'X-User-ID': user });

async function depth(server: TestServer): Promise<number> {
  const { body } = await as(server, 'ann').call<AdmissionDecision>('POST', '/sandboxes/admission', {});
  return body.queue_depth ?? 0;
}
