// The server killed with SIGKILL, or failing, exactly between two steps of a spawn, a destroy or a comparison, then
// started again: nothing is lost, leaked or double, as the host's own records tell.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { type Answer, type Api, api } from '../support/api.ts';
import { agents, NOTHING, remains } from '../support/auditor.ts';
import { startFailing } from '../support/failpoint-server.ts';
import type { Action, Point } from '../support/failpoints/point.ts';
import { describeWith } from '../support/requires.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const env = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
/** Reconcile comes by every 30 s. */
const CONVERGE_MS = 60_000;

/** What must be true of the sandbox in question afterwards. */
type Outcome = 'never was' | 'is gone' | 'lives';

const SPAWNS: readonly (readonly [Point, Outcome])[] = [
  ['S0', 'never was'],
  ['S1', 'is gone'],
  ['S2', 'is gone'],
  ['S3', 'lives'],
  ['S4', 'lives'],
];
const DESTROYS: readonly (readonly [Point, Outcome])[] = [
  ['D0', 'lives'],
  ['D1', 'is gone'],
  ['D2', 'is gone'],
  ['D3', 'is gone'],
  ['D4', 'is gone'],
];

describeWith(['root', 'unshare'], 'failpoints [userspace]', () => {
  let home: string;
  let server: TestServer | undefined;
  let kept: string;
  const seen: string[] = [];

  beforeAll(async () => {
    home = makeHome();
    server = await startServer({ env, home });
    kept = (await api(server.url).spawn({ ttl: '1h' })).id;
    await api(server.url).sh(kept, 'echo kept > /workspace/name');
    await server.stop();
  });
  afterEach(() => server?.stop());
  afterAll(async () => {
    const last = await startServer({ env, home });
    await api(last.url).destroy(kept);
    await last.stop();
    expect(remains(last, [kept, ...seen])).toEqual(NOTHING);
    removeHome(home);
  });

  /** Runs `work` against a server that is killed at `point`, then hands out the one that follows. */
  const killedAt = async (point: Point, work: (client: Api) => Promise<unknown>) => {
    const failing = await startFailing(point, 'kill', { env, home });
    await work(api(failing.url)).catch(() => undefined);
    await until(`the end at ${point}`, () => failing.child.signalCode === 'SIGKILL');
    server = await startServer({ env, home });
    await converged(server);
    return api(server.url);
  };

  it.each(SPAWNS)('a kill at %s of a spawn: it %s', async (point, outcome) => {
    const answers: Answer<Sandbox>[] = [];
    const before = await ids();
    const client = await killedAt(point, async (failing) => {
      answers.push(await failing.call<Sandbox>('POST', '/sandboxes', { ttl: '1h' }));
    });
    const fresh = (await list(client, '?include_ended=true')).filter(({ id }) => !before.has(id));
    seen.push(...fresh.map(({ id }) => id));
    expect(answers.map(({ status }) => status)).toEqual(point === 'S4' ? [201] : []);
    expect(fresh.map(({ state }) => state)).toEqual(
      outcome === 'never was' ? [] : outcome === 'lives' ? ['running'] : ['error'],
    );
    for (const { id } of answers.map(({ body }) => body)) expect(fresh[0]?.id).toBe(id);
    await settle(client, outcome === 'lives' ? [fresh[0]!.id] : []);
  });

  it.each(DESTROYS)('a kill at %s of a destroy: it %s', async (point, outcome) => {
    const first = await startServer({ env, home });
    const { id } = await api(first.url).spawn({ ttl: '1h' });
    seen.push(id);
    await first.stop();
    const client = await killedAt(point, (failing) => failing.destroy(id));
    const row = (await list(client, '?include_ended=true')).find((one) => one.id === id);
    expect(row?.state).toBe(outcome === 'lives' ? 'running' : 'destroyed');
    await settle(client, outcome === 'lives' ? [id] : []);
  });

  it('a kill between the listing and the acting, with an unfinished spawn to end', async () => {
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

  it.each(failures())('%s:%s leaves nothing that does not settle', async (point, action) => {
    const failing = await startFailing(point, action, { env, home });
    server = failing;
    const client = api(failing.url);
    const { body } = await client.call<Sandbox>('POST', '/sandboxes', { ttl: '1h' });
    const id = body.id as string | undefined;
    if (id !== undefined) {
      seen.push(id);
      await client.call('DELETE', `/sandboxes/${id}`);
    }
    expect((await client.raw('/live')).status).toBe(200);
    await converged(failing);
    const rest = (await list(client)).map((row) => row.id).filter((one) => one !== kept);
    // The one whose destroy failed before its intent was written lives on.
    expect(rest).toEqual(point === 'D0' && action === 'throw' ? [id] : []);
    await settle(client, rest);
  });

  const ids = async () => {
    const quiet = await startServer({ env, home });
    const known = new Set((await list(api(quiet.url), '?include_ended=true')).map(({ id }) => id));
    await quiet.stop();
    return known;
  };

  /** What lives answers, the kept one knows its name, and this host has an agent for each and no more. Then clears up. */
  const settle = async (client: Api, alive: readonly string[]) => {
    expect((await client.sh(kept, 'cat /workspace/name')).stdout).toBe('kept\n');
    for (const id of alive) expect((await client.sh(id, 'echo well')).stdout).toBe('well\n');
    expect(agents([server!.instance, home])).toHaveLength(1 + alive.length);
    for (const id of alive) await client.destroy(id);
    expect(agents([server!.instance, home])).toHaveLength(1);
  };
});

function failures(): [Point, Action][] {
  const points: Point[] = ['S0', 'S1', 'S2', 'D0', 'D1', 'D2', 'D3'];
  return [...points.map((point) => [point, 'throw'] as [Point, Action]), ['S2', 'delay'], ['D2', 'delay']];
}

async function list(client: Api, query = ''): Promise<Sandbox[]> {
  return (await client.call<Sandbox[]>('GET', `/sandboxes${query}`)).body;
}

async function converged({ url, home, instance }: TestServer): Promise<void> {
  const client = api(url);
  await until(
    'rows and runtimes to agree',
    async () => {
      const rows = await list(client);
      return (
        rows.every(({ state }) => state === 'running') && agents([instance, home]).length === rows.length
      );
    },
    CONVERGE_MS,
  );
}
