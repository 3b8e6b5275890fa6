// What runs is not always what was asked for: kept as warnings of the sandbox, or a reason not to make it.
import { describe, expect, it } from 'vitest';
import { refuseDifferences } from '../../../../src/domain/differences.ts';
import { NotStarted } from '../../../../src/domain/not-started.ts';
import type { SpawnRequest } from '../../../../src/schema/sandbox.ts';
import { api, forever, owned, type World, world } from '../../../support/servers/control.ts';

const CUT = 'memory_mb: cut.';
const spawn = (w: World, request: SpawnRequest, caller = api) =>
  w.control.sandboxes.spawn(request, caller, {}, forever);
const unmet = (...texts: unknown[]) => ({
  code: 'precondition_failed',
  status: 412,
  details: { unmet: texts },
});
const ended = async (w: World) => (await w.control.sandboxes.list({ include_ended: true }, api)).sandboxes;

/** Its provider gives less memory than is asked for, and refuses first where it is asked for strictly. */
function cutting(config = {}, knows = true): World {
  const w = world(config);
  const create = w.fake.create;
  w.provider.create = async (spec, signal) => {
    if (knows) refuseDifferences(spec.strict, [CUT]);
    return { ...(await create(spec, signal)), memory_mb: 64, warnings: [CUT] };
  };
  return w;
}

describe('warnings', () => {
  it('stay with the sandbox: in the answer, in get, in lists and in the store', async () => {
    const w = cutting();
    const sandbox = await spawn(w, { vcpus: 8 });
    expect(sandbox.warnings).toEqual([expect.stringMatching(/^vcpus: 8/), CUT]);
    expect(await w.control.sandboxes.get(sandbox.id, api)).toEqual(sandbox);
    expect((await w.control.sandboxes.list({}, api)).sandboxes).toEqual([sandbox]);
    expect((await w.store.sandboxes.get(sandbox.id))?.warnings).toEqual(sandbox.warnings);
    expect(await spawn(world(), {})).not.toHaveProperty('warnings');
  });

  it('are bounded in number and in length', async () => {
    const w = world();
    const create = w.fake.create;
    const warnings = Array.from({ length: 100 }, () => 'x'.repeat(5000));
    w.provider.create = async (spec, signal) => ({ ...(await create(spec, signal)), warnings });
    const { warnings: kept = [] } = await spawn(w, {});
    expect([kept.length, kept[0]?.length]).toEqual([16, 512]);
  });

  it('name a requested network that is missing', async () => {
    const w = world({}, { hasNetwork: false });
    const words = 'network: sandboxes of userspace have no network here.';
    expect((await spawn(w, { network: 'default' })).warnings).toEqual([words]);
    expect(await spawn(w, {})).not.toHaveProperty('warnings');
    expect(await spawn(w, { network: 'none' })).not.toHaveProperty('warnings');
    await expect(spawn(w, { network: 'default', strict: true })).rejects.toMatchObject(unmet(words));
  });

  it('come with a ready sandbox, too', async () => {
    const w = cutting();
    await w.control.start();
    await w.control.templates.create({ name: 'py', image: 'host', prewarm: 1 }, api);
    await w.clock.advance(100);
    expect(w.fake.made).toHaveLength(1);
    const strict = w.control.templates.spawn('py', { strict: true }, api, {}, forever);
    await expect(strict).rejects.toMatchObject(unmet(CUT));
    const { id } = await w.control.templates.spawn('py', {}, api, {}, forever);
    expect((await w.control.sandboxes.get(id, api)).warnings).toEqual([CUT]);
    expect(w.fake.made[0]).toContain(id);
  });
});

describe('a strict spawn', () => {
  it('succeeds where nothing differs', async () => {
    const sandbox = await spawn(world(), { strict: true, memory_mb: 128 });
    expect(sandbox).toMatchObject({ state: 'running', memory_mb: 128 });
  });

  it('is refused with every unmet requirement, before anything is created', async () => {
    const w = cutting();
    await expect(spawn(w, { strict: true })).rejects.toMatchObject(unmet(CUT));
    await expect(spawn(w, { strict: true, vcpus: 8 })).rejects.toMatchObject(
      unmet(expect.stringMatching(/^vcpus: 8/)),
    );
    expect(w.fake.made).toEqual([]);
    expect((await ended(w)).every(({ state }) => state === 'error')).toBe(true);
    expect((await w.events()).some(({ type }) => type === 'provider.failed')).toBe(false);
    await expect(spawn(w, {})).resolves.toMatchObject({ warnings: [CUT] });
  });

  it('leaves nothing behind when a backend reports a difference afterwards', async () => {
    const w = cutting({}, false);
    await expect(spawn(w, { strict: true })).rejects.toMatchObject(unmet(CUT));
    expect([...w.fake.runtimes.values()]).toEqual([]);
    expect(await ended(w)).toMatchObject([{ state: 'error', end_reason: 'spawn_failed' }]);
  });

  it('does not queue for a resource that this server never has', async () => {
    const w = world({ defaults: { spawn_overflow: 'queue', spawn_queue_timeout: '30s', max_sandboxes: 1 } });
    await spawn(w, {});
    await expect(spawn(w, { strict: true, vcpus: 8 })).rejects.toMatchObject({ code: 'precondition_failed' });
    await expect(w.control.sandboxes.admission({ strict: true, vcpus: 8 }, api)).rejects.toMatchObject({
      code: 'precondition_failed',
    });
    expect(await w.control.sandboxes.admission({ strict: true }, api)).toMatchObject({ allowed: false });
  });

  it('is refused a pool VM that differs, without an effect on others', async () => {
    const pool = { enabled: true, image: 'host', max_vms: 2, max_users_per_vm: 2 } as const;
    const w = cutting({ pool, auth: { enforce_owner: true } }, false);
    await expect(spawn(w, { strict: true, memory_mb: 8192 }, owned('ann'))).rejects.toMatchObject({
      code: 'precondition_failed',
    });
    expect(w.fake.made).toEqual([]);
    const bob = await spawn(w, {}, owned('bob'));
    await expect(spawn(w, { strict: true }, owned('ann'))).rejects.toMatchObject(unmet(CUT));
    expect((await w.control.sandboxes.get(bob.id, owned('bob'))).warnings).toEqual([CUT]);
  });

  it('keeps its reason when nothing was started', () => {
    let error: unknown;
    try {
      refuseDifferences(true, [CUT]);
    } catch (thrown) {
      error = thrown;
    }
    expect(new NotStarted(error as NotStarted)).toMatchObject(unmet(CUT));
    expect(() => refuseDifferences(false, [CUT])).not.toThrow();
    expect(() => refuseDifferences(true, [])).not.toThrow();
  });
});
