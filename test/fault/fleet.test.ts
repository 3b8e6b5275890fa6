// A real control plane with three real workers on hosts of their own: sixty sandboxes, cables that are pulled, workers and a
// server that are killed. What runs is counted in /proc and in the workers' journals, what is lent in the server's database.
// A lease holds 90 s at least, so cuts that outlast one are taken only with SVC_TEST_FLEET_LONG=1.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { agents } from '../support/checks/auditor.ts';
import { freePort } from '../support/free-port.ts';
import { type FaultyHost, faultyHost } from '../support/hosts/faulty-host.ts';
import { read, type WorkerHost, type WorkerNetwork, workerNetwork } from '../support/hosts/worker-hosts.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

countFaults('a fleet of workers');

const LONG = process.env.SVC_TEST_FLEET_LONG === '1';
const WORKERS = ['w1', 'w2', 'w3'];
const KEY = 'api-key-0123456789abcdef0123456789abcdef';
const ADMIN_KEY = 'admin-key-0123456789abcdef0123456789abcdef';
const LIVE = "worker_id <> 'local' AND state IN ('creating', 'running', 'unhealthy', 'destroying')";
/** 90 s of a lease, 30 s until its sandbox is given up, and what a busy machine takes beyond. */
const LOST_MS = 180_000;
const secretOf = (id: string) => `the secret of ${id}, not to be shared`;

describeWith(['root', 'bwrap', 'cc'], 'a fleet of three workers', () => {
  let network: WorkerNetwork;
  let server: TestServer;
  let client: Api;
  let hosts: WorkerHost[] = [];
  let env: Record<string, string>;
  const home = makeHome();
  const clocks = new Map<string, FaultyHost>();

  const serve = async (home?: string) => {
    server = await startServer({ env, ...(home !== undefined && { home }) });
    client = api(server.url, { 'x-api-key': KEY, 'x-admin-api-key': ADMIN_KEY });
  };
  const drainHere = async (drain: boolean) =>
    expect((await client.call('POST', '/admin/workers/local/drain', { drain })).status).toBe(200);
  const known = () => client.call<{ id: string; last_heartbeat: string }[]>('GET', '/workers');
  const allHeard = (since: number) =>
    until(
      'all workers have sent a heartbeat',
      async () => {
        const { body } = await known();
        const late = body.filter(({ last_heartbeat }) => Date.parse(last_heartbeat) <= since);
        return body.length > WORKERS.length && late.every(({ id }) => id === 'local');
      },
      60_000,
    );

  beforeAll(async () => {
    network = workerNetwork();
    const tokens = WORKERS.map((id) => [`SVC_AUTH_WORKER_TOKENS_${id.toUpperCase()}`, secretOf(id)]);
    env = {
      ...{ SVC_SERVER_HOST: network.gateway, SVC_SERVER_PORT: String(await freePort()) },
      ...{ SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: KEY, SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY },
      ...{ SVC_WORKER_HEARTBEAT_INTERVAL: '1s', SVC_DEFAULTS_MAX_SANDBOXES: '200' },
      ...{ SVC_PROVIDERS_DEFAULT: 'auto', SVC_PROVIDERS_USERSPACE_MAX_SANDBOXES: '1' },
      ...Object.fromEntries(tokens),
    };
    await serve();
    for (const id of WORKERS) {
      mkdirSync(join(home, id));
      clocks.set(id, faultyHost(join(home, id)));
    }
    hosts = WORKERS.map((id) =>
      network.host(id, { controlPlane: server.url, secret: secretOf(id), env: clocks.get(id)?.env ?? {} }),
    );
    await Promise.all(hosts.map((host) => host.start()));
    await allHeard(0);
    await drainHere(true);
  });
  afterAll(async () => {
    await server?.kill();
    await network?.remove();
    if (server) removeHome(server.home);
    removeHome(home);
  });
  afterEach(async () => {
    for (const each of hosts) {
      each.cable(true);
      each.mute(false);
    }
    await settled();
    for (const id of rows(LIVE)) await client.call('DELETE', `/sandboxes/${id}`);
    await settled();
    for (const each of hosts) expect([each.runtimes(), each.held()]).toEqual([[], []]);
    expect(lent()).toEqual([]);
  });

  const rows = (where: string) =>
    read(join(server.home, 'svc.db'), `SELECT id FROM sandboxes WHERE ${where} ORDER BY id`).map(String);
  const lent = () =>
    read(join(server.home, 'svc.db'), 'SELECT resource_id FROM leases ORDER BY resource_id').map(String);
  const host = (id: string) => hosts.find((each) => each.id === id) as WorkerHost;
  const runs = (id: string) => agents([id]).length;
  const noneTwice = () => {
    for (const id of rows("worker_id <> 'local'")) expect(runs(id), id).toBeLessThanOrEqual(1);
  };
  /** The rows, the leases, the journals and what really runs are the same sandboxes. */
  const agree = () => {
    const live = rows(LIVE).join();
    const held = hosts.flatMap((each) => each.held()).sort();
    const running = hosts.flatMap((each) => each.runtimes());
    const unsettled = rows(`${LIVE} AND state <> 'running'`).length;
    return (
      unsettled === 0 && live === lent().join() && live === held.join() && running.length === held.length
    );
  };
  const settled = async (ms = 60_000) => {
    await until('rows, leases, journals and processes agree', agree, ms);
    noneTwice();
  };
  const spawned = (count: number) =>
    Promise.all(Array.from({ length: count }, () => client.spawn({ ttl: '1h' })));
  const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('receives sixty sandboxes by load, and each lease ends with its sandbox', async () => {
    for (let wave = 0; wave < 5; wave++) await spawned(12);
    for (const each of hosts) expect(each.runtimes()).toHaveLength(20);
    expect(lent()).toHaveLength(60);
    await settled();
    await Promise.all(rows(LIVE).map((id) => client.destroy(id)));
    for (const each of hosts) expect(each.runtimes()).toEqual([]);
    expect(lent()).toEqual([]);
  });

  it('receives spawns beyond the capacity of the server, for its provider or another', async () => {
    await drainHere(false);
    const [here, there] = [await client.spawn({}), await client.spawn({})];
    expect(here.worker_id).toBe('local');
    expect(WORKERS).toContain(there.worker_id);
    await client.destroy(here.id);
    await drainHere(true);
    const own = env;
    await server.stop();
    env = {
      ...own,
      ...{ SVC_PROVIDERS_USERSPACE_ENABLED: 'false', SVC_PROVIDERS_CONTAINER_ENABLED: 'true' },
      SVC_PROVIDERS_CONTAINER_SOCKET: join(server.home, 'no-engine.sock'),
    };
    await serve(server.home);
    await allHeard(Date.now());
    const other = await client.spawn({});
    expect([other.provider, WORKERS.includes(other.worker_id)]).toEqual(['userspace', true]);
    await server.stop();
    env = own;
    await serve(server.home);
  });

  it('keeps all sandboxes but the destroyed ones during cuts shorter than a lease', async () => {
    const made = await spawned(6);
    const [cut, ...others] = made.sort((a, b) => (a.worker_id < b.worker_id ? -1 : 1));
    expect(cut?.worker_id).toBe('w1');
    host('w1').cable(false);
    host('w2').mute(true);
    const ending = client.call('DELETE', `/sandboxes/${cut?.id}`);
    await pass(3000);
    expect(runs(cut?.id ?? '')).toBe(1);
    // One that is only not heard is still called.
    expect(others.filter(({ id }) => runs(id) === 1)).toHaveLength(5);
    const healed = Date.now();
    host('w1').cable(true);
    host('w2').mute(false);
    await ending;
    await allHeard(healed);
    await settled();
    expect(rows(LIVE)).toEqual(others.map(({ id }) => id).sort());
  });

  it('keeps all sandboxes while the clocks of workers jump an hour ahead and back', async () => {
    const made = (await spawned(6)).map(({ id }) => id).sort();
    const refusals = (id: string) => host(id).log().split('Heartbeat failed').length;
    const before = new Map(WORKERS.map((id) => [id, refusals(id)]));
    clocks.get('w1')?.set({ clock_s: 3600 });
    clocks.get('w2')?.set({ clock_s: -3600 });
    // Its tokens are of another time.
    for (const id of ['w1', 'w2'])
      await until(`${id} is not believed`, () => refusals(id) > (before.get(id) ?? 0));
    for (const id of made) expect(runs(id), id).toBe(1);
    for (const id of ['w1', 'w2']) clocks.get(id)?.set({});
    await allHeard(Date.now());
    await settled();
    expect(rows(LIVE)).toEqual(made);
  });

  it('keeps exactly the acknowledged sandboxes when a worker is killed during spawns', async () => {
    for (const pause of [10, 80]) {
      const asked = Array.from({ length: 6 }, () => client.spawn({ ttl: '1h' }).catch(() => undefined));
      await pass(pause);
      await host('w3').end('SIGKILL');
      await host('w3').start();
      const given = (await Promise.all(asked)).flatMap((each) => (each ? [each.id] : []));
      await settled();
      for (const id of given) expect(runs(id), id).toBe(1);
    }
  });

  it('keeps exactly the acknowledged sandboxes when the control plane is killed during spawns', async () => {
    const before = await spawned(3);
    const asked = Array.from({ length: 6 }, () => client.spawn({ ttl: '1h' }).catch(() => undefined));
    await pass(60);
    await server.kill();
    const given = (await Promise.all(asked)).flatMap((each) => (each ? [each] : []));
    await serve(server.home);
    await allHeard(Date.now());
    await settled();
    for (const { id } of [...before, ...given]) expect(runs(id), id).toBe(1);
    await server.stop();
    for (const { id } of [...before, ...given]) expect(runs(id), id).toBe(1);
    await serve(server.home);
  });

  if (LONG)
    it('ends the sandboxes of a worker that is unreachable for longer than a lease', async () => {
      const made = await spawned(9);
      host('w1').cable(false);
      host('w2').mute(true);
      for (const id of ['w1', 'w2'])
        await until(`${id} ends all`, () => host(id).runtimes().length === 0, LOST_MS);
      await until(
        'the rows say so',
        () => rows("state = 'destroyed' AND end_reason = 'worker_lost'").length === 6,
        LOST_MS,
      );
      const kept = made.filter(({ worker_id }) => worker_id === 'w3').map(({ id }) => id);
      expect(rows(LIVE)).toEqual(kept.sort());
      const healed = Date.now();
      host('w1').cable(true);
      host('w2').mute(false);
      await allHeard(healed);
      await spawned(6);
      await settled();
      for (const each of hosts) expect(each.runtimes()).toHaveLength(3);
    });

  if (LONG)
    it('ends all sandboxes when the control plane is unreachable for longer than a lease, and serves again', async () => {
      const made = await spawned(6);
      await server.stop();
      for (const each of hosts) await until('all is ended', () => each.runtimes().length === 0, LOST_MS);
      await serve(server.home);
      await allHeard(Date.now());
      await settled(LOST_MS);
      for (const { id } of made) expect(rows(`id = '${id}' AND end_reason = 'worker_lost'`)).toEqual([id]);
      await spawned(3);
      await settled();
    });
});
