// The server killed with SIGKILL, failing, late or frozen exactly between two steps of a spawn, a destroy or a
// comparison: afterwards nothing is lost, leaked or double, as the host's and the engine's own records tell.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startFailing } from '../../proof/failpoints/build.ts';
import type { Action, Point } from '../../proof/failpoints/point.ts';
import { countFaults } from '../../proof/faulted.ts';
import type { MetricsBody } from '../../src/schema/diagnostics.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { NOTHING, remains, runtimes } from '../support/checks/auditor.ts';
import { type LedgerRow, readLedger } from '../support/checks/ledger.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { inContainers } from '../support/hosts/matrix.ts';
import { stateOf } from '../support/hosts/process-state.ts';
import { describeWith } from '../support/requires.ts';
import { type Answer, type Api, api } from '../support/servers/api.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const CONVERGE_MS = 90_000;
/** Longer than the agent's and the engine's patience for a moment's silence, far from any deadline. */
const FREEZE_MS = 1500;
const SOON = { SVC_PROVIDERS_RECONCILE_INTERVAL: '1s' };

/** What must be true of the sandbox in question afterwards. */
type Outcome = 'never was' | 'is gone' | 'lives';

const SPAWNS: readonly (readonly [Point, Outcome])[] = [
  ['S0', 'never was'],
  ['S1', 'is gone'],
  ['S2', 'is gone'],
  ['S3', 'lives'],
  ['S4', 'lives'],
  ['S5', 'lives'],
];
const DESTROYS: readonly (readonly [Point, Outcome])[] = [
  ['D0', 'lives'],
  ['D1', 'is gone'],
  ['D2', 'is gone'],
  ['D3', 'is gone'],
  ['D4', 'is gone'],
];
/** After these the row stays, and was not what the client was told of: as when a reply is lost. */
const KEPT_BY: readonly string[] = ['D0:throw', 'S5:throw'];

describeWith(['root', 'unshare'], 'failpoints [userspace]', () => {
  countFaults('userspace, one sandbox and one step at a time', 'points');
  tried({ SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', ...SOON }, 'host');
});
inContainers(['runc'], { needs: [], name: 'failpoints' }, ({ env }) => {
  countFaults('container, one sandbox and one step at a time', 'points');
  Object.assign(env, SOON, { SVC_DEFAULTS_IMAGE: IMAGES.busybox });
  tried(env, IMAGES.busybox);
});

/** One sandbox is kept through all of it, and one is always ready. */
function tried(env: Record<string, string>, image: string): void {
  let home: string;
  let server: TestServer | undefined;
  let kept: string;

  beforeAll(async () => {
    home = makeHome();
    server = await startServer({ env, home });
    const client = api(server.url);
    kept = (await client.spawn({ ttl: '1h' })).id;
    await client.sh(kept, 'echo kept > /workspace/name');
    expect((await client.call('POST', '/templates', { name: 'warm', image, prewarm: 1 })).status).toBe(201);
    await converged(server);
    await server.stop();
  });
  afterEach(() => server?.stop());
  afterAll(async () => {
    const last = await startServer({ env, home });
    await api(last.url).call('DELETE', '/templates/warm');
    await api(last.url).destroy(kept);
    await until('nothing runs', () => runtimes(last).length === 0, CONVERGE_MS);
    await last.stop();
    const { all, counted, twice } = readLedger(home);
    const ids = all.map(({ id }) => id);
    expect([remains(last, ids), counted, twice]).toEqual([NOTHING, 0, []]);
    removeHome(home);
  });

  /** Runs `work` against a server that is killed at `point`, then hands out the one that follows. */
  const killedAt = async (point: Point, work: (client: Api) => Promise<unknown>) => {
    const failing = await startFailing(point, 'kill', { env, home });
    await work(api(failing.url)).catch(() => undefined);
    await until(`the end at ${point}`, () => failing.child.signalCode === 'SIGKILL', CONVERGE_MS);
    server = await startServer({ env, home });
    await converged(server);
    return api(server.url);
  };

  it.each(SPAWNS)('a kill at %s of a spawn: it %s', async (point, outcome) => {
    const answers: Answer<Sandbox>[] = [];
    const before = known(home);
    const client = await killedAt(point, async (failing) => {
      answers.push(await spawnAt(point, failing));
    });
    const fresh = readLedger(home).all.filter(({ id }) => !before.has(id));
    expect(answers.map(({ status }) => status)).toEqual(point === 'S4' ? [201] : []);
    expect(fresh.map(({ state }) => state)).toEqual(
      outcome === 'never was' ? [] : outcome === 'lives' ? ['running'] : ['error'],
    );
    for (const { body } of answers) expect(fresh[0]?.id).toBe(body.id);
    await settle(client, outcome === 'lives' ? fresh : []);
  });

  it.each(DESTROYS)('a kill at %s of a destroy: it %s', async (point, outcome) => {
    let id = '';
    const client = await killedAt(point, async (failing) => {
      id = (await failing.spawn({ ttl: '1h' })).id;
      await failing.destroy(id);
    });
    const row = readLedger(home).all.filter((one) => one.id === id);
    expect(row.map(({ state }) => state)).toEqual([outcome === 'lives' ? 'running' : 'destroyed']);
    await settle(client, outcome === 'lives' ? row : []);
  });

  it('a kill between listing and acting, with an unfinished spawn to end', async () => {
    const failing = await startFailing('S2', 'kill', { env, home });
    await api(failing.url)
      .spawn({ ttl: '1h' })
      .catch(() => undefined);
    await until('the end', () => failing.child.signalCode === 'SIGKILL');
    await expect(startFailing('R1', 'kill', { env, home })).rejects.toThrow('ended with');
    server = await startServer({ env, home });
    await converged(server);
    await settle(api(server.url), []);
  });

  it.each(failures())('%s:%s settles without leftovers', async (point, action) => {
    const before = known(home);
    const failing = await startFailing(point, action, { env, home });
    server = failing;
    const client = api(failing.url);
    const answers = await Promise.all([spawnAndDestroy(point, client), thawed(failing, action)]);
    if (action !== 'throw') expect(answers[0]).toEqual([201, 200]);
    expect((await client.raw('/live')).status).toBe(200);
    await converged(failing);
    const rest = readLedger(home).live.filter(({ id }) => !before.has(id));
    expect(rest).toHaveLength(KEPT_BY.includes(`${point}:${action}`) ? 1 : 0);
    await settle(client, rest);
  });

  /** What lives answers, and the kept one knows its name. Then it is ended, and with it its runtime. */
  const settle = async (client: Api, alive: readonly LedgerRow[]) => {
    expect((await client.sh(kept, 'cat /workspace/name')).stdout).toBe('kept\n');
    for (const { id } of alive) expect((await client.sh(id, 'echo well')).stdout).toBe('well\n');
    for (const { id } of alive) await client.destroy(id);
    await converged(server!);
  };
}

const known = (home: string) => new Set(readLedger(home).all.map(({ id }) => id));

function failures(): [Point, Action][] {
  const thrown: Point[] = ['S0', 'S1', 'S2', 'S3', 'S4', 'S5', 'D0', 'D1', 'D2', 'D3', 'D4', 'R1'];
  const late: Point[] = ['S2', 'S5', 'D2'];
  const frozen: Point[] = ['S1', 'S2', 'S3', 'S5', 'D1', 'D2', 'D3'];
  const pairs = (points: Point[], action: Action) =>
    points.map((point) => [point, action] as [Point, Action]);
  return [...pairs(thrown, 'throw'), ...pairs(late, 'delay'), ...pairs(frozen, 'freeze')];
}

/** The ready one's point is passed by whoever takes it, which is not before the server has found that it lives. */
async function spawnAt(point: Point, client: Api): Promise<Answer<Sandbox>> {
  if (point !== 'S5') return client.call('POST', '/sandboxes', { ttl: '1h' });
  const ready = async () => (await client.call<MetricsBody>('GET', '/metrics')).body.prewarm.ready > 0;
  await until('the ready one to be found', ready, CONVERGE_MS);
  return client.call('POST', '/templates/warm/spawn', { ttl: '1h' });
}

/** The statuses of both; the second is missing where there was nothing to destroy. */
async function spawnAndDestroy(point: Point, client: Api): Promise<number[]> {
  const spawned = await spawnAt(point, client);
  if (spawned.status !== 201) return [spawned.status];
  // An answer that is cut off in the middle is one of the things that may follow a throw.
  const ended = await client.call('DELETE', `/sandboxes/${spawned.body.id}`).catch(() => ({ status: 0 }));
  return [201, ended.status];
}

/** Lets a server that froze go on after a while. */
async function thawed({ child }: TestServer, action: Action): Promise<void> {
  if (action !== 'freeze') return;
  await until('the server to freeze', () => stateOf(child.pid!) === 'T');
  await pause(FREEZE_MS);
  child.kill('SIGCONT');
}

/** There is a runtime for each row, and for the ready one, and no more. */
async function converged(server: TestServer): Promise<void> {
  const agree = () => {
    const { live, warm } = readLedger(server.home);
    const isSettled = live.every(({ state }) => state === 'running') && warm === 1;
    return isSettled && runtimes(server).length === live.length + warm;
  };
  await until('rows and runtimes to agree', agree, CONVERGE_MS);
}
