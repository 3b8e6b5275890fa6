// Who acted: on events of every kind and on the rows of sandboxes, for callers and for the service itself.
import { describe, expect, it } from 'vitest';
import { sandboxRecord } from '../../../support/records.ts';
import { admin, api, forever, roomy, type World, world } from '../../../support/servers/control.ts';

const ci = { ...api, actor: 'key:ci' };
const ops = { ...admin, actor: 'key:ops' };

const spawn = async (w: World, request = {}, caller = ci) =>
  (await w.control.sandboxes.spawn(request, caller, {}, forever)).id;
const row = (w: World, id: string) => w.store.sandboxes.get(id);
const actorsOf = async (w: World, id: string) =>
  (await w.events())
    .filter(({ sandbox_id }) => sandbox_id === id)
    .map(({ type, actor }) => `${type} ${actor}`);

describe('a caller', () => {
  it('is recorded on the sandbox that it spawned, and on the end that it requested', async () => {
    const w = world();
    const id = await spawn(w);
    expect(await w.control.sandboxes.get(id, api)).toMatchObject({ created_by: 'key:ci' });
    await w.control.sandboxes.destroy(id, ops);
    expect(await actorsOf(w, id)).toEqual([
      'sandbox.created key:ci',
      'sandbox.running key:ci',
      'sandbox.destroyed key:ops',
    ]);
    await expect(w.control.sandboxes.get(id, api)).rejects.toMatchObject({
      details: { ended_by: 'key:ops' },
    });
    const { sandboxes } = await w.control.sandboxes.list({ include_ended: true }, api);
    expect(sandboxes).toMatchObject([{ created_by: 'key:ci', ended_by: 'key:ops' }]);
  });

  it('is recorded on the end only if it was the first to request it', async () => {
    const w = world();
    const id = await spawn(w);
    w.provider.decide = (operation) => (operation === 'destroy' ? 'late' : undefined);
    const both = [w.control.sandboxes.destroy(id, ops), w.control.sandboxes.destroy(id, ci)];
    await w.clock.advance(0);
    w.provider.release();
    await Promise.all(both);
    expect(await row(w, id)).toMatchObject({ ended_by: 'key:ops' });
  });

  it('is recorded on the events of commands and files', async () => {
    const w = world();
    const id = await spawn(w);
    await w.control.exec.run(id, { command: 'true' }, ops, forever, roomy);
    await w.control.files.write(id, '/workspace/a', Buffer.from('x'), {}, ops, forever);
    const actors = (await actorsOf(w, id)).slice(2);
    expect(actors).toEqual(['exec.started key:ops', 'exec.completed key:ops', 'file.written key:ops']);
  });

  it('is recorded on a queued spawn, a quota and a refused spawn', async () => {
    const w = world({ defaults: { max_sandboxes: 1, spawn_overflow: 'queue' } });
    const id = await spawn(w);
    const second = spawn(w, {}, ops);
    await w.clock.advance(0);
    await w.control.sandboxes.destroy(id, ci);
    await second;
    await w.control.quotas.put('ann', { max_sandboxes: 1 }, ops);
    await w.control.quotas.delete('ann', ops);
    const others = (await w.events()).filter(({ type }) => /^(?:spawn|quota)\./.test(type));
    expect(others.map(({ type, actor }) => `${type} ${actor}`).sort()).toEqual([
      'quota.deleted key:ops',
      'quota.saved key:ops',
      'spawn.dequeued key:ops',
      'spawn.queued key:ops',
    ]);
    const full = world({ defaults: { max_sandboxes: 1 } });
    await spawn(full);
    await expect(spawn(full, {}, ops)).rejects.toMatchObject({ code: 'resource_limit' });
    expect((await full.events()).at(-1)).toMatchObject({ type: 'resource.limit', actor: 'key:ops' });
  });

  it('is recorded on pruned sandboxes', async () => {
    const w = world();
    const id = await spawn(w, { ttl: '1s' });
    await w.clock.advance(2000);
    await w.control.sandboxes.prune(ops);
    expect(await row(w, id)).toMatchObject({ end_reason: 'pruned', ended_by: 'key:ops' });
  });
});

describe('the service', () => {
  it('ends an expired sandbox as system:expired', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w, { ttl: '1s' });
    await w.clock.advance(1000);
    await w.clock.advance(0);
    expect(await row(w, id)).toMatchObject({ end_reason: 'expired', ended_by: 'system:expired' });
    expect((await actorsOf(w, id)).at(-1)).toBe('sandbox.destroyed system:expired');
  });

  it("rolls a failed spawn back as system:spawn_failed; the failure is the caller's", async () => {
    const w = world();
    w.provider.decide = (operation) => (operation === 'create' ? 'fail' : undefined);
    await expect(spawn(w)).rejects.toBeDefined();
    const [failed] = await w.store.sandboxes.list({ include_ended: true, limit: 1 });
    expect(failed).toMatchObject({ created_by: 'key:ci', ended_by: 'system:spawn_failed' });
    expect(await actorsOf(w, failed?.id ?? '')).toEqual([
      'sandbox.created key:ci',
      'provider.failed key:ci',
      'sandbox.error system:spawn_failed',
    ]);
  });

  it('ends an unfinished spawn as system:reconcile', async () => {
    const w = world();
    const { id } = sandboxRecord();
    await w.store.sandboxes.reserve({
      sandbox: sandboxRecord({ id }),
      limits: { max_sandboxes: 0 },
      events: [],
    });
    await w.control.start();
    await w.clock.advance(0);
    expect(await row(w, id)).toMatchObject({ end_reason: 'spawn_failed', ended_by: 'system:reconcile' });
    expect(await actorsOf(w, id)).toEqual([
      'reconcile.action system:reconcile',
      'sandbox.error system:reconcile',
    ]);
  });

  it('ends a lost runtime as system:runtime_lost', async () => {
    const w = world();
    await w.control.start();
    const id = await spawn(w);
    w.fake.runtimes.clear();
    for (let n = 0; n < 5; n++) await w.clock.advance(60_000);
    expect(await row(w, id)).toMatchObject({ end_reason: 'runtime_lost', ended_by: 'system:runtime_lost' });
    const actors = (await actorsOf(w, id)).slice(2);
    expect(new Set(actors.map((line) => line.split(' ')[1]))).toEqual(new Set(['system:runtime_lost']));
  });

  it('ends a spawn whose client left as system:disconnected', async () => {
    const w = world();
    const leaving = new AbortController();
    const { id } = await w.control.sandboxes.spawn({}, ci, {}, leaving.signal);
    leaving.abort();
    await w.clock.advance(0);
    expect(await row(w, id)).toMatchObject({ end_reason: 'destroyed', ended_by: 'system:disconnected' });
  });
});

it('every event under load names an actor', async () => {
  const w = world();
  await w.control.start();
  const id = await spawn(w);
  await w.control.exec.run(id, { command: 'false' }, ci, forever, roomy);
  await w.control.sandboxes.destroy(id, ci);
  expect((await w.events()).filter(({ actor }) => actor === undefined)).toEqual([]);
});
