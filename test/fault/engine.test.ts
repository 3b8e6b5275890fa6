// The container engine restarted, killed and frozen under a server at work: every call ends by its deadline as a typed
// failure, the server itself stays quick, and afterwards its rows, the engine and the kernel tell the same.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import type { Health } from '../../src/schema/system.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { type CallOutcome, type CallRequest, pulse, timedCall } from '../support/checks/timed-calls.ts';
import { type Engine, IMAGES, startEngine } from '../support/hosts/engine.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

countFaults('engine restarted, killed, frozen');

const FROZEN_MS = 60_000;
/** Retries come after at most 60 s, and a container that nobody awaited is left alone for its first minute. */
const CONVERGE_MS = 200_000;
/** What a busy machine may add to a deadline. */
const SLACK_MS = 20_000;

interface Under {
  engine: Engine;
  server: TestServer;
  client: Api;
  /** Of all sandboxes that were ever answered. */
  seen: string[];
}

/** A server on an engine with these arguments; both as new for each `it` that changes them. */
function underEngine(args: readonly string[], name: string, body: (under: Under) => void): void {
  describeWith(['root', 'docker'], name, () => {
    const under = { seen: [] as string[] } as Under;
    beforeAll(async () => {
      under.engine = await startEngine({ args });
    }, 120_000);
    afterAll(() => under.engine?.stop());
    beforeEach(async () => {
      under.server = await startServer({ env: serverEnv(under.engine) });
      under.client = api(under.server.url);
    });
    afterEach(async () => {
      await under.server?.stop();
      if (under.server) removeHome(under.server.home);
    });
    body(under);
  });
}

const serverEnv = ({ socket }: Engine) => ({
  SVC_PROVIDERS_DEFAULT: 'container',
  SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
  SVC_PROVIDERS_CONTAINER_SOCKET: socket,
  SVC_PROVIDERS_CONTAINER_START_TIMEOUT: '15s',
  // A link goes on without the engine (contract/container-link).
  SVC_PROVIDERS_CONTAINER_LINK: 'attach',
  SVC_PROVIDERS_USERSPACE_ENABLED: 'false',
  SVC_DEFAULTS_IMAGE: IMAGES.busybox,
});

const spawned = async ({ client, seen }: Under): Promise<Sandbox> => {
  const sandbox = await client.spawn({ ttl: '1h' });
  seen.push(sandbox.id);
  return sandbox;
};

/** Each with the longest that the design lets it take. */
const calls = (used: string, doomed: string): [CallRequest, number][] => [
  [{ name: 'list', method: 'GET', path: '/sandboxes' }, 0],
  [{ name: 'detail', method: 'GET', path: `/sandboxes/${used}` }, 0],
  [{ name: 'health', method: 'GET', path: '/health' }, 3_000],
  [{ name: 'ready', method: 'GET', path: '/ready' }, 3_000],
  [
    {
      ...{ name: 'exec', method: 'POST', path: `/sandboxes/${used}/exec` },
      body: { command: 'echo there', timeout: '5s' },
    },
    20_000,
  ],
  [{ name: 'stat', method: 'GET', path: `/sandboxes/${used}/files/stat?path=/workspace` }, 40_000],
  [{ name: 'spawn', method: 'POST', path: '/sandboxes', body: { ttl: '1h' } }, 60_000],
  [{ name: 'files', method: 'GET', path: `/sandboxes/${used}/files/list?path=/workspace` }, 40_000],
  [{ name: 'remove', method: 'DELETE', path: `/sandboxes/${used}/files?path=/workspace/none` }, 40_000],
  [{ name: 'destroy', method: 'DELETE', path: `/sandboxes/${doomed}` }, 60_000],
];

/** Makes all calls at once; each must end in time, with a success or an error of ours that tells nothing of the host. */
async function press({ client, engine, seen }: Under, used: string, doomed: string): Promise<CallOutcome[]> {
  return Promise.all(
    calls(used, doomed).map(async ([order, ms]) => {
      const called = await timedCall(client, order);
      expect.soft(called.ms, called.name).toBeLessThan(ms + SLACK_MS);
      expect.soft(called.text, called.name).not.toContain(engine.folder);
      if (called.status >= 400)
        expect
          .soft(['unavailable', 'timeout', 'not_found', 'provider_error'], `${called.name}: ${called.text}`)
          .toContain(called.code);
      if (called.name === 'spawn' && called.status === 201)
        seen.push((JSON.parse(called.text) as Sandbox).id);
      return called;
    }),
  );
}

const rows = async ({ client }: Under) => (await client.call<Sandbox[]>('GET', '/sandboxes')).body;

/** What the engine has of this server, dead ones too: `id state`. */
const onEngine = async ({ engine, server }: Under) =>
  (await engine.api.containers())
    .filter(({ Names }) => Names.some((name) => name.includes(server.instance)))
    .map(({ Labels, State }) => `${Labels['svc.id']} ${State}`)
    .sort();

/** Waits until the rows that live and the containers of the engine are the same, and all of them run. */
async function agreed(under: Under): Promise<void> {
  await until(
    'rows and engine to agree',
    async () => {
      const listed = (await rows(under)).map(({ id, state }) => `${id} ${state}`).sort();
      return JSON.stringify(listed) === JSON.stringify(await onEngine(under));
    },
    CONVERGE_MS,
  );
}

async function healthy({ client }: Under, status: 'ok' | 'ill'): Promise<void> {
  await until(`health to be ${status}`, async () => {
    const { body } = await client.call<Health>('GET', '/health');
    return (body.status === 'ok') === (status === 'ok');
  });
}

/** Ends what lives; then nothing of this server may be left in the engine or in the kernel. */
async function nothingLeft(under: Under): Promise<void> {
  const { client, engine, server, seen } = under;
  for (const { id } of await rows(under)) await client.destroy(id);
  expect(await onEngine(under)).toEqual([]);
  expect(remains(server, seen)).toEqual(NOTHING);
  const groups = () =>
    readdirSync(join('/sys/fs/cgroup/memory', engine.cgroup), { withFileTypes: true }).filter((each) =>
      each.isDirectory(),
    );
  expect(groups()).toEqual([]);
}

/** Why it ended; undefined when it has not. */
async function endReason({ client }: Under, id: string): Promise<unknown> {
  const { body } = await client.call<{ details?: { end_reason?: string } }>('GET', `/sandboxes/${id}`);
  return body.details?.end_reason;
}

/** What `/live` took before, against what it took while the engine was away. */
function expectQuick(before: number[], during: number[]): void {
  const middle = (times: number[]) => times[Math.floor(times.length / 2)] ?? 0;
  expect(during.length).toBeGreaterThan(10);
  expect(middle(during)).toBeLessThan(10 * middle(before) + 50);
  expect(during.at(-1)).toBeLessThan(5000);
}

/** `away` while clients go on; hands back how `/live` did before and meanwhile. */
async function whileAway<T>({ server }: Under, away: () => Promise<T>): Promise<T> {
  const first = pulse(server.url);
  await pause(1000);
  const before = await first.stop();
  const meanwhile = pulse(server.url);
  const result = await away();
  expectQuick(before, await meanwhile.stop());
  return result;
}

underEngine([], 'an engine whose containers end with it', (under) => {
  it.each(['restarted', 'killed'] as const)(
    '%s: its sandboxes are lost and reported as lost',
    async (how) => {
      const [used, doomed] = [await spawned(under), await spawned(under)];
      await whileAway(under, async () => {
        const restarting = how === 'restarted' ? under.engine.restart() : under.engine.kill9();
        if (how === 'killed') await restarting;
        await press(under, used.id, doomed.id);
        if (how === 'killed') {
          await healthy(under, 'ill');
          await under.engine.start();
        }
        await restarting;
      });
      await agreed(under);
      await healthy(under, 'ok');
      expect(await endReason(under, used.id)).toBe('runtime_lost');
      // By request or with the engine, whichever was first.
      expect(['destroyed', 'runtime_lost']).toContain(await endReason(under, doomed.id));
      const next = await spawned(under);
      expect(await under.client.sh(next.id, 'echo on')).toMatchObject({ stdout: 'on\n' });
      await nothingLeft(under);
    },
  );

  it('frozen for a minute: calls end at their deadlines, and everything works afterwards', async () => {
    const [used, doomed] = [await spawned(under), await spawned(under)];
    await under.client.sh(used.id, 'echo kept > /workspace/file');
    await whileAway(under, async () => {
      await under.engine.freeze();
      const thaw = pause(FROZEN_MS).then(() => under.engine.thaw());
      const ill = healthy(under, 'ill');
      const called = await press(under, used.id, doomed.id);
      await ill;
      const failed = called.filter(({ status }) => status >= 400).map(({ name }) => name);
      expect(failed).toEqual(expect.arrayContaining(['exec', 'stat', 'files', 'remove', 'spawn']));
      await thaw;
    });
    await agreed(under);
    await healthy(under, 'ok');
    expect(await under.client.sh(used.id, 'cat /workspace/file')).toMatchObject({ stdout: 'kept\n' });
    expect(await endReason(under, doomed.id)).toBe('destroyed');
    await nothingLeft(under);
  });
});

underEngine(['--live-restore'], 'an engine that its containers outlive', (under) => {
  it.each(['restarted', 'killed'] as const)('%s: its sandboxes keep running', async (how) => {
    const used = await spawned(under);
    await under.client.sh(used.id, 'echo kept > /workspace/file');
    if (how === 'restarted') await under.engine.restart();
    else {
      await under.engine.kill9();
      expect(await timedCall(under.client, calls(used.id, used.id)[4]![0])).toMatchObject({
        code: 'unavailable',
      });
      await under.engine.start();
    }
    const found = await until('the sandbox to answer', async () => {
      const { body } = await under.client.call<{ stdout?: string }>('POST', `/sandboxes/${used.id}/exec`, {
        command: 'cat /workspace/file',
      });
      return body.stdout;
    });
    expect(found).toBe('kept\n');
    await agreed(under);
    expect(await endReason(under, used.id)).toBeUndefined();
    await nothingLeft(under);
  });
});
