// 10,000 spawns that wait for 4 places, over the real database: in order, none forgotten, none after its time.
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createControlPlane } from '../../src/control/create.ts';
import { eventWriter } from '../../src/events/batch-writer.ts';
import { eventBus } from '../../src/events/bus.ts';
import { realClock } from '../../src/host/clock.ts';
import { providerSet } from '../../src/providers/registry.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { fixedConfig, testConfig } from '../support/config.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { fakeProvider } from '../support/fakes/provider.ts';
import { forever, owned } from '../support/servers/control.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const [WAITING, PLACES, OWNERS] = [10_000, 4, 10];

async function plane(timeout: string) {
  const deps = { ...fakeDeps(), clock: realClock() };
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openSqliteStore({ ...deps, path, synchronous: 'normal' });
  const config = fixedConfig(
    testConfig({
      database: { path },
      defaults: {
        ...{ max_sandboxes: PLACES, spawn_overflow: 'queue', spawn_queue_timeout: timeout },
        max_spawn_queue: WAITING,
      },
    }),
  );
  const bus = eventBus(deps);
  const writer = eventWriter({ ...deps, append: store.events.append, deliver: bus.publish });
  const provider = fakeProvider(deps);
  const providers = providerSet([provider]);
  const rest = { store, config, bus, writer, providers, host: { cpus: 4 }, version: '0' };
  const boot = { id: 'boot-1', elapsedMs: deps.clock.monotonic };
  const control = createControlPlane({ ...deps, ...rest, boot, redact: (value: unknown) => value });
  onTestFinished(async () => {
    await writer.close();
    await store.close();
  });
  return { control, store, provider };
}

it('starts 10,000 in turn: by age within an owner, round robin between owners', async () => {
  const { control, provider } = await plane('1h');
  const started: string[] = [];
  const spawn = async (name: string, owner: string) => {
    const sandbox = await control.sandboxes.spawn({ metadata: { name } }, owned(owner), {}, forever);
    started.push(name);
    return sandbox.id;
  };
  const first = await Promise.all(Array.from({ length: PLACES }, (_, i) => spawn(`first${i}`, 'first')));
  // One owner after the other, so that order of arrival and order of turns differ.
  const all: Promise<unknown>[] = [];
  for (let owner = 0; owner < OWNERS; owner++)
    for (let i = 0; i < WAITING / OWNERS; i++) {
      const one = spawn(`${owner}-${i}`, `o${owner}`);
      all.push(one.then((id) => control.sandboxes.destroy(id, owned(`o${owner}`))));
    }
  const depth = async () => (await control.sandboxes.admission({}, owned('x'))).queue_depth;
  await until('all wait', async () => (await depth()) === WAITING);
  started.length = 0;
  await control.sandboxes.destroy(first[0]!, owned('first'));
  await Promise.all(all);
  const turns = Array.from({ length: WAITING }, (_, i) => `${i % OWNERS}-${Math.floor(i / OWNERS)}`);
  expect(started).toEqual(turns);
  expect(provider.made).toHaveLength(WAITING + PLACES);
  expect(await depth()).toBe(0);
}, 300_000);

it('answers each of 10,000 within its wait limit, and starts none afterwards', async () => {
  const { control, provider, store } = await plane('3s');
  const spawn = () => control.sandboxes.spawn({}, owned('ann'), {}, forever);
  const running = await Promise.all(Array.from({ length: PLACES }, spawn));
  const waits: number[] = [];
  const outcomes = await Promise.all(
    Array.from({ length: WAITING }, async () => {
      const begun = performance.now();
      const outcome = await spawn().catch((error: { code: string }) => error.code);
      waits.push(performance.now() - begun);
      return outcome;
    }),
  );
  expect(new Set(outcomes)).toEqual(new Set(['resource_limit']));
  expect(Math.min(...waits)).toBeGreaterThan(2900);
  await control.sandboxes.destroy(running[0]!.id, owned('ann'));
  expect(provider.made).toHaveLength(PLACES);
  expect((await store.sandboxes.countActive()).total).toBe(PLACES - 1);
}, 120_000);
