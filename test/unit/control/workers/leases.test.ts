// Leases: renewed by their holder while they hold, by time that nobody sets.
import { expect, it } from 'vitest';
import { isLeaseSignedWith } from '../../../../src/domain/lease.ts';
import { NO_CAP, sandboxRecord, stamp } from '../../../support/records.ts';
import { api, type World, world } from '../../../support/servers/control.ts';

const SECRET = 's'.repeat(40);
const W1 = { worker_id: 'w1', secret: SECRET, scopes: [] };

async function leased(w: World): Promise<string> {
  await w.store.workers.heard('w1', { providers: ['userspace'], rpc_url: 'http://h' }, stamp(), { most: 9 });
  const placement = {
    heartbeat_after: stamp(-60),
    local: false,
    remote: true,
    sessions: false,
    lease_until: stamp(120),
  };
  const row = sandboxRecord();
  await w.store.sandboxes.reserve({ sandbox: row, limits: { ...NO_CAP, placement }, events: [] });
  return row.id;
}

const fresh = async () => {
  const w = world({ auth: { worker_tokens: { w1: SECRET } } });
  return { w, id: await leased(w) };
};
const REFUSED = { code: 'conflict' };

it('is renewed with the next generation, signed with the secret of its holder', async () => {
  const { w, id } = await fresh();
  await w.clock.advance(60_000);
  const { lease, sandbox_ttl } = await w.control.workers.renew(W1, id, undefined);
  expect(lease).toMatchObject({ resource_id: id, holder_id: 'w1', generation: 2, expires_at: stamp(180) });
  expect(isLeaseSignedWith(SECRET, lease)).toBe(true);
  expect(sandbox_ttl).toBe('29m');
  expect((await w.control.workers.renew(W1, id, '10s')).lease).toMatchObject({
    ...{ generation: 3, expires_at: stamp(180) },
  });
  expect((await w.control.workers.renew(W1, id, '24h')).lease).toMatchObject({ expires_at: stamp(180) });
  await expect(w.control.workers.renew(W1, id, '0s')).rejects.toMatchObject({ code: 'bad_request' });
});

it('is refused to another worker, to an unknown one, and after it expired', async () => {
  const { w, id } = await fresh();
  await expect(w.control.workers.renew({ ...W1, worker_id: 'w2' }, id, undefined)).rejects.toMatchObject(
    REFUSED,
  );
  await expect(w.control.workers.renew(W1, 'sb-0', undefined)).rejects.toMatchObject(REFUSED);
  await w.control.workers.renew(W1, id, undefined);
  await w.clock.advance(120_000);
  await expect(w.control.workers.renew(W1, id, undefined)).rejects.toMatchObject(REFUSED);
});

it('is refused for a sandbox that has begun to end', async () => {
  const { w, id } = await fresh();
  await w.store.sandboxes.transition({
    ...{ id, epoch: 1, from: ['creating'], events: [], patch: { state: 'destroying' } },
  });
  await expect(w.control.workers.renew(W1, id, undefined)).rejects.toMatchObject(REFUSED);
});

it.each([3_600_000, -3_600_000])('lasts equally long when the clock is changed by %d ms', async (ms) => {
  const { w, id } = await fresh();
  await w.control.workers.renew(W1, id, undefined);
  w.clock.jump(ms);
  await w.clock.advance(100_000);
  expect((await w.control.metrics.body()).leases).toEqual({ total: 1, active: 1, expired: 0 });
  expect((await w.control.workers.renew(W1, id, undefined)).lease.generation).toBe(3);
  await w.clock.advance(120_000);
  expect((await w.control.metrics.body()).leases).toEqual({ total: 1, active: 0, expired: 1 });
  await expect(w.control.workers.renew(W1, id, undefined)).rejects.toMatchObject(REFUSED);
  expect(await w.control.sandboxes.list({}, api)).toMatchObject({ sandboxes: [{ worker_id: 'w1' }] });
});

it('counts as a fresh grant for a server that sees it first, whatever the stamp and the clock say', async () => {
  const { w, id } = await fresh();
  await w.clock.advance(600_000);
  w.clock.jump(3_600_000);
  expect((await w.control.metrics.body()).leases).toEqual({ total: 1, active: 1, expired: 0 });
  await w.clock.advance(119_000);
  expect((await w.control.metrics.body()).leases).toMatchObject({ active: 1 });
  await w.clock.advance(1000);
  expect((await w.control.metrics.body()).leases).toMatchObject({ expired: 1 });
  // Renewed through another replica: even a generation that a failover took back is one that was not seen.
  await w.store.leases.renew(id, 'w1', stamp(0));
  expect((await w.control.metrics.body()).leases).toMatchObject({ active: 1 });
});

it('is not lost when it is renewed through another replica in the moment of the mark', async () => {
  const { w, id } = await fresh();
  await w.store.sandboxes.transition({
    id,
    epoch: 1,
    from: ['creating'],
    patch: { state: 'running' },
    events: [],
  });
  await w.control.start();
  const { transition } = w.store.sandboxes;
  let marks = 0;
  w.store.sandboxes.transition = async (change) => {
    if (change.patch.end_reason === 'worker_lost' && marks++ === 0)
      await w.store.leases.renew(id, 'w1', stamp(600));
    return transition(change);
  };
  await w.clock.advance(160_000);
  expect(marks).toBe(1);
  expect((await w.store.sandboxes.get(id))?.state).toBe('unhealthy');
  await w.clock.advance(150_000);
  expect(await w.store.sandboxes.get(id)).toMatchObject({ end_reason: 'worker_lost' });
});
