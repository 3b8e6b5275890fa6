// A service that names a runtime twice: the second sandbox is refused, and the first one keeps what it has.
import { beforeEach, describe, expect, it } from 'vitest';
import { Replica } from '../../../../proof/simulation/replicas.ts';
import type { RuntimeSpec } from '../../../../src/providers/provider.ts';
import { memoryStore } from '../../../support/memory-store/store.ts';
import { admin, api, forever, type World, world } from '../../../support/servers/control.ts';

describe('a runtime that a provider returns twice', () => {
  let w: World;
  /** Instead of making one: names that of another, under the label of the new one where `relabels`. */
  const repeats = ({ relabels }: { relabels: boolean }) => {
    w.provider.create = async ({ id, epoch, memory_mb, vcpus }: RuntimeSpec) => {
      const [one] = w.fake.runtimes.values();
      if (!one) throw new Error('there is none');
      if (relabels) Object.assign(one, { id, epoch });
      return { runtime_id: one.runtime_id, image: 'host', memory_mb, vcpus, warnings: [] };
    };
  };
  const spawn = (request: object = {}) => w.control.sandboxes.spawn(request, admin, {}, forever);
  const refused = { code: 'provider_error', message: expect.stringContaining('another sandbox') };

  beforeEach(() => {
    w = world({}, { namesAreGiven: true });
  });

  it.each([false, true])('is refused and stays alive (relabelled: %s)', async (relabels) => {
    const first = await spawn();
    repeats({ relabels });
    await expect(spawn()).rejects.toMatchObject(refused);
    expect([...w.fake.runtimes.keys()]).toEqual([first.runtime_id]);
    const { sandboxes } = await w.control.sandboxes.list({ include_ended: true }, admin);
    expect(sandboxes.map(({ state, runtime_id }) => [state, runtime_id])).toEqual([
      ['error', undefined],
      ['running', first.runtime_id],
    ]);
  });

  it('is refused before setup commands run in it', async () => {
    await spawn();
    await w.control.templates.create({ name: 't', setup: ['touch it'] } as never, admin);
    repeats({ relabels: false });
    await expect(spawn({ template: 't' })).rejects.toMatchObject(refused);
    expect(w.provider.calls.attach).toBe(0);
  });

  it('is given to one of two simultaneous spawns', async () => {
    w.fake.plant('sb-else');
    repeats({ relabels: false });
    const both = await Promise.allSettled([spawn(), spawn()]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(w.fake.runtimes.size).toBe(1);
  });

  it('is refused by the next server, which does not sweep it', async () => {
    const { id, runtime_id } = await spawn();
    repeats({ relabels: true });
    await w.restart();
    await expect(spawn()).rejects.toMatchObject(refused);
    await w.clock.advance(600_000);
    expect([...w.fake.runtimes.keys()]).toEqual([runtime_id]);
    expect(await w.control.sandboxes.get(id, api)).toMatchObject({ state: 'running' });
  });

  it('is refused by other servers on the store, and free for them once its sandbox has ended', async () => {
    const shared = { ...w, store: memoryStore({ ...w, isShared: true }) };
    const [one, two] = [1, 2].map(() => new Replica(shared, () => ({ kind: 'pass', ms: 0 })).control);
    const spawnOn = (control = one) => control!.sandboxes.spawn({}, admin, {}, forever);
    const { id, runtime_id } = await spawnOn();
    repeats({ relabels: false });
    await expect(spawnOn(two)).rejects.toMatchObject(refused);
    expect([...w.fake.runtimes.keys()]).toEqual([runtime_id]);
    await two!.sandboxes.destroy(id, admin);
    expect(w.fake.runtimes.size).toBe(0);
    w.fake.plant('sb-else');
    const [planted] = w.fake.runtimes.values();
    Object.assign(planted ?? {}, { runtime_id });
    repeats({ relabels: true });
    expect(await spawnOn()).toMatchObject({ state: 'running', runtime_id });
  });

  it('is free again once its sandbox is gone', async () => {
    const { id, runtime_id } = await spawn();
    await w.control.sandboxes.destroy(id, admin);
    w.fake.plant('sb-else');
    const [one] = w.fake.runtimes.values();
    Object.assign(one ?? {}, { runtime_id });
    repeats({ relabels: true });
    expect(await spawn()).toMatchObject({ state: 'running', runtime_id });
  });

  it('is not checked where a provider chooses its own names', async () => {
    w = world();
    const first = await spawn();
    repeats({ relabels: false });
    expect(await spawn()).toMatchObject({ runtime_id: first.runtime_id });
  });
});
