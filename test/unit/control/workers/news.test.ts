// Events about workers: each change once, nothing of what was before the start, and the health of their sandboxes.
import { expect, it } from 'vitest';
import { NO_CAP, sandboxRecord, stamp } from '../../../support/records.ts';
import { admin, type World, world } from '../../../support/servers/control.ts';

const SECRET = 's'.repeat(40);
const BODY = { providers: ['userspace'], version: '1.0.0' };

const started = async (): Promise<World> => {
  const w = world({ auth: { worker_tokens: { w1: SECRET } } });
  await w.control.start();
  return w;
};
const beat = (w: World, body: object = {}) =>
  w.store.workers.heard('w1', { ...BODY, ...body }, new Date(w.clock.now()).toISOString(), { most: 9 });
/** Advances past the next look at workers; then what was told of them. */
const told = async (w: World) => {
  await w.clock.advance(5000);
  const events = (await w.events()).filter(({ type }) => type.startsWith('worker.'));
  return events.map(({ type, data }) => [type, data?.worker_id]);
};

it('tells when a worker comes, falls silent, returns, is drained and goes', async () => {
  const w = await started();
  await beat(w);
  expect(await told(w)).toEqual([['worker.online', 'w1']]);
  await beat(w);
  expect(await told(w)).toHaveLength(1);
  await w.clock.advance(120_000);
  expect((await told(w)).slice(1)).toEqual([['worker.offline', 'w1']]);
  await beat(w);
  expect((await told(w)).slice(2)).toEqual([['worker.online', 'w1']]);
  await w.control.workers.drain('w1', true);
  expect((await told(w)).slice(3)).toEqual([['worker.drained', 'w1']]);
  await w.control.workers.remove('w1');
  expect((await told(w)).slice(4)).toEqual([['worker.removed', 'w1']]);
  const [online] = (await w.events()).filter(({ type }) => type === 'worker.online');
  expect(online).toMatchObject({ actor: 'system:lease', data: { version: '1.0.0' } });
});

it('tells nothing of workers that were there before its start', async () => {
  const w = world();
  await beat(w);
  await w.control.start();
  expect(await told(w)).toEqual([]);
});

it('says that a worker is being drained while it has sandboxes, and that these do not answer any more', async () => {
  const w = await started();
  await beat(w, { rpc_url: 'http://h' });
  const placement = {
    ...{ heartbeat_after: stamp(-60), local: false, remote: true, sessions: false, lease_until: stamp(120) },
  };
  const sandbox = sandboxRecord();
  await w.store.sandboxes.reserve({ sandbox, limits: { ...NO_CAP, placement }, events: [] });
  const running = {
    id: sandbox.id,
    epoch: 1,
    from: ['creating' as const],
    patch: { state: 'running' as const },
  };
  await w.store.sandboxes.transition({ ...running, events: [] });
  expect(await told(w)).toEqual([['worker.online', 'w1']]);
  await w.control.workers.drain('w1', true);
  expect((await told(w)).slice(1)).toEqual([['worker.draining', 'w1']]);
  await w.clock.advance(125_000);
  const events = await w.events();
  expect(events.filter(({ sandbox_id: id }) => id === sandbox.id)).toMatchObject([
    { type: 'sandbox.unhealthy', actor: 'system:health' },
  ]);
});

it('tells of each change of a template, to those who may see it', async () => {
  const w = await started();
  const caller = { ...admin, owner: 'ann', bound: true } as typeof admin;
  await w.control.templates.create({ name: 'python', image: 'host' }, admin);
  await w.control.templates.update('python', { image: 'host' }, admin, {});
  await w.control.templates.delete('python', admin);
  await w.control.templates.create({ name: 'own', image: 'host' }, caller);
  const events = (await w.events()).filter(({ type }) => type.startsWith('template.'));
  expect(events).toMatchObject([
    { type: 'template.created', actor: 'admin:X-Admin-API-Key', data: { name: 'python', version: 1 } },
    { type: 'template.updated', data: { name: 'python', version: 2 } },
    { type: 'template.deleted', data: { name: 'python', version: 2 } },
    { type: 'template.created', owner_id: 'ann', data: { name: 'own', version: 1 } },
  ]);
  expect(events[0]).not.toHaveProperty('owner_id');
});
