// The workers as the control plane knows them, this server among them.
import { describe, expect, it } from 'vitest';
import type { HeartbeatBody } from '../../../../src/schema/worker.ts';
import { NO_CAP, sandboxRecord, stamp } from '../../../support/records.ts';
import { api, world } from '../../../support/servers/control.ts';

const BODY: HeartbeatBody = {
  ...{ hostname: 'h', status: 'online', providers: ['userspace'], rpc_url: 'http://10.0.0.9:7500' },
  ...{ capabilities: ['exec'], capacity: { max_sandboxes: 4 }, version: '1.2.3' },
};
/** Others than this machine may call the server. */
const WITH_KEYS = { auth: { enabled: true, api_key: 'k'.repeat(40) } };

it('this server registers itself when it starts, and keeps sending heartbeats', async () => {
  const w = world({ worker: { heartbeat_interval: '10s' } });
  expect(await w.control.workers.list()).toEqual([]);
  await w.control.start();
  const [local] = await w.control.workers.list();
  expect(local).toMatchObject({
    ...{ id: 'local', status: 'online', providers: ['userspace'], stale: false, drain: false },
    ...{ last_heartbeat: stamp(), capacity: { vcpus: 4 }, version: '0.0.0' },
  });
  const { id } = await w.control.sandboxes.spawn({}, api, {}, new AbortController().signal);
  await w.clock.advance(25_000);
  expect(await w.control.workers.get('local')).toMatchObject({
    last_heartbeat: stamp(20),
    active_sandboxes: 1,
  });
  await w.control.stop();
  await w.clock.advance(60_000);
  expect(await w.store.workers.get('local')).toMatchObject({ last_heartbeat: stamp(20) });
  expect(id).toMatch(/^sb-/);
});

it('a worker without a heartbeat for four intervals, and at least a minute, is stale', async () => {
  const w = world({ worker: { heartbeat_interval: '30s' } });
  await w.control.workers.heartbeat('w1', BODY);
  await w.clock.advance(119_000);
  expect(await w.control.workers.get('w1')).toMatchObject({ stale: false });
  await w.clock.advance(1000);
  expect(await w.control.workers.get('w1')).toMatchObject({ stale: true, status: 'online' });
  const { workers, leases } = await w.control.metrics.body();
  expect([workers.stale, leases]).toEqual([1, { total: 0, active: 0, expired: 0 }]);
  const { status, checks } = await w.control.health.health(true);
  expect([status, checks.workers]).toMatchObject(['degraded', { status: 'degraded' }]);
  await w.control.workers.heartbeat('w1', { status: 'offline' });
  await w.clock.advance(120_000);
  expect((await w.control.health.health(true)).checks.workers).toMatchObject({ status: 'ok' });
  expect((await w.control.metrics.body()).workers).toMatchObject({ total: 1, by_status: { offline: 1 } });
});

it('drains a worker that was asked to drain, whatever its heartbeats say', async () => {
  const w = world();
  await w.control.workers.heartbeat('w1', BODY);
  expect(await w.control.workers.drain('w1', true)).toMatchObject({ drain: true, status: 'draining' });
  expect(await w.control.workers.heartbeat('w1', BODY)).toMatchObject({ drain: true, status: 'draining' });
  expect(await w.control.workers.drain('w1', false)).toMatchObject({ drain: false, status: 'online' });
  await expect(w.control.workers.drain('w2', true)).rejects.toMatchObject({ code: 'not_found' });
});

it.each([
  ['http://169.254.169.254/latest', "a cloud's metadata service"],
  ['http://2852039166', "a cloud's metadata service"],
  ['https://[fd00:ec2::254]', "a cloud's metadata service"],
  ['http://[::ffff:169.254.169.254]:80', "a cloud's metadata service"],
  ['http://[64:ff9b::a9fe:a9fe]', "a cloud's metadata service"],
  ['http://169.254.7.7', 'a link-local address'],
  ['http://[fe80::1]:7500', 'a link-local address'],
  ['http://[2001:0:a9fe:a9fe::1]:7500', 'not the address of one host'],
  ['http://0.0.0.0:7500', 'not the address of one host'],
  ['http://localhost:7500', 'a loopback address'],
  ['http://a.localhost:7500', 'a loopback address'],
  ['http://[', 'not a URL'],
])('does not register a worker with the address %s', async (rpc_url, fault) => {
  const w = world(WITH_KEYS);
  const refused = w.control.workers.heartbeat('w1', { ...BODY, rpc_url });
  await expect(refused).rejects.toMatchObject({ code: 'bad_request', message: `rpc_url is ${fault}.` });
  expect(await w.control.workers.list()).toEqual([]);
});

it('limits the rate of heartbeats of a worker, with a burst, but not those that repair its entry', async () => {
  const w = world();
  const identity = (worker_id: string) => ({ worker_id, secret: 's', scopes: [] });
  const beat = (id: string) => w.control.workers.heartbeat(id, BODY, identity(id));
  for (let n = 0; n < 10; n++) await beat('w1');
  await expect(beat('w1')).rejects.toMatchObject({
    ...{ code: 'resource_limit', retryAfterMs: 500 },
    message: 'The worker sends heartbeats too fast.',
  });
  await beat('w2');
  for (let n = 0; n < 20; n++) await w.control.workers.heartbeat('w1', BODY);
  await w.clock.advance(500);
  await beat('w1');
  await expect(beat('w1')).rejects.toMatchObject({ code: 'resource_limit' });
});

it('does not call a worker that stopped accepting calls, and says so to users of its sandboxes', async () => {
  const w = world({ auth: { worker_tokens: { w1: '1'.repeat(40) } } });
  await w.control.start();
  await w.control.workers.drain('local', true);
  await w.control.workers.heartbeat('w1', BODY);
  const request = [{}, api, {}, new AbortController().signal] as const;
  const { id } = await w.control.sandboxes.spawn(...request);
  await w.control.workers.heartbeat('w1', { status: 'online' });
  expect(await w.control.workers.get('w1')).toMatchObject({ rpc_url: BODY.rpc_url });
  expect(await w.control.workers.heartbeat('w1', { ...BODY, rpc_url: '' })).not.toHaveProperty('rpc_url');
  await expect(w.control.sandboxes.spawn(...request)).rejects.toMatchObject({
    details: { reason: 'worker_unavailable' },
  });
  await expect(w.control.sandboxes.destroy(id, api)).rejects.toMatchObject({
    ...{ code: 'unavailable', message: 'Worker w1 cannot be called.' },
    remedy: expect.stringContaining('listen'),
  });
});

describe('a secret that a worker made itself', () => {
  const NEAR = { ...BODY, rpc_url: 'http://127.0.0.1:7424' };
  const identity = (letter: string) => ({
    ...{ worker_id: 'w1', secret: `svc-worker-own-v1.${letter.repeat(43)}`, scopes: [] },
    isHandedOver: true as const,
  });
  const started = async () => {
    const w = world();
    await w.control.start();
    const beat = (letter: string, body: HeartbeatBody = NEAR) =>
      w.control.workers.heartbeat('w1', body, identity(letter));
    const renew = (letter: string) => w.control.workers.renew(identity(letter), 'sb-1', undefined);
    return Object.assign(w, { beat, renew });
  };

  it('is valid while the worker sends heartbeats, and one lease longer', async () => {
    const w = await started();
    await w.beat('a');
    for (let n = 0; n < 20; n++) await expect(w.beat('b')).rejects.toMatchObject({ code: 'conflict' });
    await w.clock.advance(60_000);
    await w.beat('a');
    await w.clock.advance(119_000);
    await expect(w.beat('b')).rejects.toMatchObject({ code: 'conflict' });
    await w.clock.advance(1000);
    await w.beat('b');
    await expect(w.beat('a')).rejects.toMatchObject({ code: 'conflict' });
    await expect(w.renew('a')).rejects.toMatchObject({ code: 'unauthorized' });
  });

  it('cannot be replaced after a change of the wall clock, or by repeated attempts', async () => {
    const w = await started();
    await w.beat('a');
    w.clock.jump(3_600_000);
    await expect(w.beat('b')).rejects.toMatchObject({ code: 'conflict' });
    for (let n = 0; n < 50; n++) await w.beat('b').catch(() => undefined);
    await w.beat('a');
  });

  it('is requested again after a restart of the server, and accepted only from the same worker', async () => {
    const w = await started();
    await w.beat('a');
    await w.restart();
    await expect(w.renew('a')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(w.beat('b')).rejects.toMatchObject({ code: 'conflict' });
    await w.beat('a');
    await expect(w.renew('a')).rejects.toMatchObject({ code: 'conflict' });
    await expect(w.renew('b')).rejects.toMatchObject({ code: 'unauthorized' });
  });

  it('is accepted only from this machine', async () => {
    const w = await started();
    await expect(w.beat('a', BODY)).rejects.toMatchObject({ code: 'bad_request' });
    await w.beat('a');
    await expect(w.control.workers.heartbeat('w1', BODY)).rejects.toMatchObject({ code: 'bad_request' });
    expect(await w.control.workers.get('w1')).toMatchObject({ rpc_url: NEAR.rpc_url });
    expect(JSON.stringify(await w.control.workers.list())).not.toContain('svc-worker-own');
  });
});

it('removes a worker without sandboxes, but never this server', async () => {
  const w = world();
  await w.control.start();
  await w.control.workers.heartbeat('w1', BODY);
  const row = sandboxRecord({ worker_id: 'w1', state: 'running' });
  await w.store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] });
  await expect(w.control.workers.remove('w1')).rejects.toMatchObject({ code: 'conflict' });
  await expect(w.control.workers.remove('local')).rejects.toMatchObject({ code: 'conflict' });
  await expect(w.control.workers.remove('w2')).rejects.toMatchObject({ code: 'not_found' });
  const events: never[] = [];
  await w.store.sandboxes.transition({
    ...{ id: row.id, epoch: 1, from: ['running'], events },
    patch: { state: 'destroyed', ended_at: stamp() },
  });
  await w.control.workers.remove('w1');
  await expect(w.control.workers.get('w1')).rejects.toMatchObject({ code: 'not_found' });
});

it('refuses heartbeats in the name of this server', async () => {
  const w = world();
  await expect(w.control.workers.heartbeat('local', BODY)).rejects.toMatchObject({ code: 'conflict' });
});

it.each([
  'http://10.0.0.9:99999',
  'http://[zz]:1',
  'http://127.0.0.1:7424',
  'https://localhost',
  'http://[::1]:1',
])('refuses a worker with the address %s', async (rpc_url) => {
  const w = world(WITH_KEYS);
  await expect(w.control.workers.heartbeat('w1', { ...BODY, rpc_url })).rejects.toMatchObject({
    code: 'bad_request',
  });
  expect(await w.store.workers.get('w1')).toBeUndefined();
});

it('accepts a loopback address while only this machine can call the server, or by the setting', async () => {
  for (const config of [{}, { ...WITH_KEYS, worker: { allow_loopback_rpc: true } }]) {
    const w = world(config);
    const heartbeat = w.control.workers.heartbeat('w1', { ...BODY, rpc_url: 'http://127.0.0.1:7424' });
    expect(await heartbeat).toMatchObject({ rpc_url: 'http://127.0.0.1:7424' });
  }
});
