// Spawns that demand a certain worker, or labels of one.
import { expect, it } from 'vitest';
import type { HeartbeatBody } from '../../../../src/schema/worker.ts';
import { admin, api, forever, type World, world } from '../../../support/servers/control.ts';

const TOKENS = { w1: '1'.repeat(40), w2: '2'.repeat(40) };
const body = (labels: Record<string, string>, most = 2): HeartbeatBody => ({
  ...{ status: 'online', providers: ['userspace'], rpc_url: 'http://10.0.0.9:7500', labels },
  capacity: { max_sandboxes: most },
});

async function fleet(config: Parameters<typeof world>[0] = {}): Promise<World> {
  const w = world({ auth: { worker_tokens: TOKENS }, ...config });
  await w.control.start();
  await w.control.workers.heartbeat('w1', body({ gpu: 'a100', zone: 'a' }, 1));
  await w.control.workers.heartbeat('w2', body({ gpu: 't4', zone: 'b' }, 1));
  return w;
}
const spawn = (w: World, request = {}) => w.control.sandboxes.spawn(request, api, {}, forever);
const dryRun = (w: World, request = {}) => w.control.sandboxes.admission(request, api);

it('go where they demand, although this server has room', async () => {
  const w = await fleet();
  expect(await spawn(w)).toMatchObject({ worker_id: 'local' });
  expect(await dryRun(w, { worker_id: 'w1' })).toMatchObject({
    ...{ allowed: true, selected_worker_id: 'w1', eligible_workers: 1 },
  });
  expect(await spawn(w, { worker_id: 'w1' })).toMatchObject({ worker_id: 'w1' });
  expect(await spawn(w, { worker_labels: { zone: 'b' } })).toMatchObject({ worker_id: 'w2' });
  expect(await spawn(w, { worker_id: 'local' })).toMatchObject({ worker_id: 'local' });
  await expect(spawn(w, { worker_id: 'w1' })).rejects.toMatchObject({
    ...{ code: 'resource_limit', details: { reason: 'worker_capacity' } },
  });
  expect(await dryRun(w, { worker_id: 'w1' })).toMatchObject({ allowed: false, reason: 'worker_capacity' });
});

it.each<[string, object, string]>([
  ['a worker that does not exist', { worker_id: 'w9' }, 'There is no worker w9.'],
  ['a label that no worker has', { worker_labels: { gpu: 'h100' } }, 'No worker has the label gpu=h100.'],
  [
    'a label of another worker',
    { worker_id: 'w1', worker_labels: { zone: 'b' } },
    'Worker w1 lacks the label zone=b.',
  ],
])('are refused for %s, and the dry run answers the same', async (_what, request, words) => {
  const w = await fleet();
  await expect(spawn(w, request)).rejects.toMatchObject({
    ...{ code: 'precondition_failed', message: expect.stringContaining(words) },
    ...{ details: { reason: 'worker_mismatch' }, remedy: expect.stringContaining('worker_labels') },
  });
  expect(await dryRun(w, request)).toMatchObject({
    ...{ allowed: false, queueable: false, reason: 'worker_mismatch', eligible_workers: 0 },
    message: expect.stringContaining(words),
  });
});

it('are refused while their worker drains', async () => {
  const w = await fleet();
  await w.control.workers.drain('w1', true);
  await expect(spawn(w, { worker_labels: { gpu: 'a100' } })).rejects.toMatchObject({
    ...{ code: 'unavailable', message: expect.stringContaining('draining') },
    details: { reason: 'worker_unavailable' },
  });
});

it('know this server by its own labels', async () => {
  const w = world({ worker: { labels: { zone: 'here' } } });
  await w.control.start();
  expect(await w.control.workers.get('local')).toMatchObject({ labels: { zone: 'here' } });
  expect(await spawn(w, { worker_labels: { zone: 'here' } })).toMatchObject({ worker_id: 'local' });
  await expect(spawn(w, { worker_labels: { zone: 'there' } })).rejects.toMatchObject({
    message: 'No worker has the label zone=there. Existing labels: zone=here.',
  });
});

it('prefer a worker that has their image, as the dry run says', async () => {
  const w = await fleet();
  await w.control.workers.heartbeat('w2', { images: ['debian:12'] });
  await w.control.workers.drain('local', true);
  const image = 'docker.io/library/debian:12';
  expect(await dryRun(w)).toMatchObject({ selected_worker_id: 'w1', eligible_workers: 2 });
  expect(await dryRun(w, { image })).toMatchObject({ selected_worker_id: 'w2', eligible_workers: 2 });
  expect(await spawn(w, { image })).toMatchObject({ worker_id: 'w2' });
  expect(await spawn(w, { image })).toMatchObject({ worker_id: 'w1' });
  expect(await w.control.workers.get('w2')).not.toHaveProperty('images');
});

it('wait for their worker without holding up others', async () => {
  const w = await fleet({
    defaults: { spawn_overflow: 'queue', spawn_queue_timeout: '1m', max_sandboxes: 20 },
  });
  const first = await spawn(w, { worker_id: 'w1' });
  const waiting = spawn(w, { worker_id: 'w1' });
  await w.clock.advance(10);
  expect((await dryRun(w)).queue_depth).toBe(1);
  const other = await w.control.sandboxes.spawn({}, { ...api, owner: 'bob' }, {}, forever);
  expect(other).toMatchObject({ worker_id: 'local' });
  await w.control.sandboxes.destroy(other.id, api);
  await w.clock.advance(10);
  expect((await dryRun(w)).queue_depth).toBe(1);
  await w.control.sandboxes.destroy(first.id, api);
  await w.clock.advance(10);
  expect(await waiting).toMatchObject({ worker_id: 'w1' });
});

it('come from templates, and requests add to them', async () => {
  const w = await fleet();
  const facts = { image: 'host', provider: 'userspace', worker_labels: { gpu: 'a100' } };
  const made = await w.control.templates.create({ name: 'gpu', ...facts }, admin);
  expect(made).toMatchObject({ worker_labels: { gpu: 'a100' } });
  expect(await spawn(w, { template: 'gpu' })).toMatchObject({ worker_id: 'w1' });
  await expect(spawn(w, { template: 'gpu', worker_labels: { zone: 'b' } })).rejects.toMatchObject({
    message: expect.stringContaining('No worker has all labels gpu=a100, zone=b.'),
  });
  await w.control.templates.create({ name: 'there', image: 'host', worker_id: 'w2' }, admin);
  expect(await spawn(w, { template: 'there' })).toMatchObject({ worker_id: 'w2' });
  expect(await spawn(w, { template: 'there', worker_id: 'local' })).toMatchObject({ worker_id: 'local' });
});
