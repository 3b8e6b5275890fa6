// Images that the service pulled, on a real engine: removed when nothing has used them for long or they take too much
// room; never what somebody else brought, and never what anything uses.
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { type Engine, openEngine } from '../../src/providers/container/engine.ts';
import { fullName } from '../../src/providers/container/image-name.ts';
import { pulledImages } from '../../src/providers/container/pulled-images.ts';
import { silentLogger } from '../support/fakes/ports.ts';
import { containerConfig, containerHome, containerSpec } from '../support/hosts/container.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const INSTANCE = { id: 'abcdef01-2345-4000-8000-000000000000' };

describeWith(['root', 'docker'], 'images that the service pulled', () => {
  let shared: SharedEngine;
  let engine: Engine;
  let later = 0;
  const clock = { ...realClock(), now: () => Date.now() + later };
  const keeper = (change: { afterMs?: number; maxMb?: number; instance?: { id: string } }) =>
    pulledImages({
      ...{ engine, clock, logger: silentLogger, instance: INSTANCE, afterMs: 0, maxMb: 0, ...change },
    });
  /** Names on the engine that this test gave, or the service. */
  const names = async () => {
    const { body } = await shared.api.call<{ RepoTags: string[] | null }[]>('GET', '/images/json');
    const all = body.flatMap(({ RepoTags }) => RepoTags ?? []);
    return all.filter((name) => /^svc-(pulled|short):/.test(name)).sort();
  };
  const shorts = async () => (await names()).filter((name) => name.startsWith('svc-short:'));

  beforeAll(async () => {
    shared = await sharedEngine();
  }, 120_000);
  beforeEach(() => {
    engine = openEngine({ config: { ...containerConfig(), socket: shared.socket }, clock: realClock() });
    later = 0;
    return () => engine.close();
  });
  afterEach(async () => {
    for (const name of await names()) await shared.api.call('DELETE', `/images/${name}`);
    expect(await names()).toEqual([]);
  });

  /** As if it had been pulled, except that the service did not. */
  async function brought(tag: string): Promise<string> {
    const body = { Image: IMAGES.busybox, Cmd: ['sh'] };
    const made = await shared.api.call<{ Id: string }>('POST', '/containers/create', body);
    const path = `/commit?container=${made.body.Id}&repo=svc-short&tag=${tag}`;
    const { body: image } = await shared.api.call<{ Id: string }>('POST', path, { Cmd: [freshId()] });
    await shared.api.call('DELETE', `/containers/${made.body.Id}?v=1`);
    return image.Id;
  }

  it('are removed when unused for the configured time; images that others pulled stay', async () => {
    const all = keeper({ afterMs: 24 * HOUR_MS });
    await all.pulled('svc-short:a', await brought('a'));
    await brought('b');
    // Somebody wants it: it has a name that nobody pulled it by.
    const wanted = await brought('c');
    await all.pulled('svc-short:c', wanted);
    await shared.api.call('POST', `/images/${wanted}/tag?repo=svc-short&tag=mine`);
    later = 23 * HOUR_MS;
    await all.prune();
    expect(await shorts()).toEqual(['svc-short:a', 'svc-short:b', 'svc-short:c', 'svc-short:mine']);
    later = 25 * HOUR_MS;
    await keeper({ afterMs: 24 * HOUR_MS, instance: { id: `f${INSTANCE.id.slice(1)}` } }).prune();
    expect(await shorts()).toHaveLength(4);
    await all.prune();
    expect(await shorts()).toEqual(['svc-short:b', 'svc-short:c', 'svc-short:mine']);
    expect((await names()).filter((name) => name.startsWith('svc-pulled:'))).toHaveLength(1);
  });

  it('stay while used, and while a container of them exists, also a stopped one', async () => {
    const all = keeper({ afterMs: 24 * HOUR_MS });
    const [held, used] = [await brought('held'), await brought('used')];
    await all.pulled('svc-short:held', held);
    await all.pulled('svc-short:used', used);
    const stopped = await shared.api.call<{ Id: string }>('POST', '/containers/create', {
      Image: held,
      Cmd: ['x'],
    });
    later = 23 * HOUR_MS;
    const { body } = await shared.api.call<{ RepoTags: string[] }>('GET', '/images/svc-short:used/json');
    all.used(used, body.RepoTags);
    await until('the use is noted', async () =>
      (await names()).some((name) => Number(name.split('-').at(-1)) * 1000 > Date.now() + 22 * HOUR_MS),
    );
    later = 25 * HOUR_MS;
    await all.prune();
    expect(await shorts()).toEqual(['svc-short:held', 'svc-short:used']);
    await shared.api.call('DELETE', `/containers/${stopped.body.Id}?v=1`);
    later = 50 * HOUR_MS;
    await all.prune();
    expect(await shorts()).toEqual([]);
    expect(await names()).toEqual([]);
  });

  it('are removed beyond their size limit, the longest unused first, but never when just pulled', async () => {
    const all = keeper({ maxMb: 1 });
    await all.pulled('svc-short:old', await brought('old'));
    later = HOUR_MS;
    await all.pulled('svc-short:new', await brought('new'));
    await all.prune();
    expect(await shorts()).toEqual(['svc-short:new']);
  });

  it('stay while a sandbox uses them', async () => {
    const id = await brought('live');
    await keeper({ afterMs: HOUR_MS }).pulled('svc-short:live', id);
    const provider = containerHome(shared.socket).provider();
    const made = await provider.create(containerSpec('sb-pulled', { image: 'svc-short:live' }), soon());
    later = 2 * HOUR_MS;
    await keeper({ afterMs: HOUR_MS }).prune();
    expect(await shorts()).toEqual(['svc-short:live']);
    expect(made.image).toBe('svc-short:live');
    await provider.destroy({ id: 'sb-pulled', epoch: 1 }, soon());
    await provider.close();
    await keeper({ afterMs: HOUR_MS }).prune();
    expect(await shorts()).toEqual([]);
    expect(fullName('svc-short:live')).toBe('docker.io/library/svc-short:live');
  });
});
