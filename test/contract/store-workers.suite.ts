// The contract of stores: workers, the choice among them with a reservation, and leases.
import { expect, it } from 'vitest';
import type { AdmissionLimits } from '../../src/domain/admission.ts';
import type { PlacementLimits } from '../../src/domain/placement.ts';
import type { HeartbeatBody } from '../../src/schema/worker.ts';
import type { SandboxRecord } from '../../src/store/store.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const MOST = { most: 100 };
const PLACEMENT = {
  heartbeat_after: stamp(-60),
  local: true,
  remote: true,
  sessions: false,
  lease_until: stamp(90),
};
const REMOTE: HeartbeatBody = {
  ...{ hostname: 'h', status: 'online', providers: ['userspace'], capabilities: ['exec'] },
  labels: { gpu: 'a100', zone: 'b' },
  ...{ capacity: { max_sandboxes: 2, memory_mb: 8, vcpus: 4 }, rpc_url: 'http://10.0.0.2:1', version: '1' },
};

export function workers({ store }: Given): void {
  const heard = (id: string, said: HeartbeatBody = REMOTE, at = stamp()) =>
    store().workers.heard(id, said, at, MOST);

  it('stores the fields of a heartbeat, and keeps those that it omits', async () => {
    const made = await heard('w1');
    expect(made).toEqual({
      ...REMOTE,
      ...{ id: 'w1', drain: false, active_sandboxes: 0, active_by_provider: {}, prewarmed_sandboxes: 0 },
      ...{ last_heartbeat: stamp(), created_at: stamp(), updated_at: stamp() },
    });
    const next = await heard('w1', { status: 'draining', capacity: { vcpus: 0 } }, stamp(5));
    expect(next).toEqual({
      ...made,
      ...{ status: 'draining', capacity: { max_sandboxes: 2, memory_mb: 8, vcpus: 0 } },
      ...{ last_heartbeat: stamp(5), updated_at: stamp(5) },
    });
    expect(await store().workers.get('w1')).toEqual(next);
    expect(await heard('w0', {})).toMatchObject({ status: 'online', hostname: '', providers: [] });
    expect((await store().workers.list()).map(({ id }) => id)).toEqual(['w0', 'w1']);
    expect(await store().workers.get('W1')).toBeUndefined();
  });

  it('forgets where a worker is called when it says nowhere, and only then', async () => {
    await heard('w1');
    expect(await heard('w1', { status: 'online' })).toMatchObject({ rpc_url: REMOTE.rpc_url });
    expect(await heard('w1', { ...REMOTE, rpc_url: '' })).not.toHaveProperty('rpc_url');
    expect(await heard('w1', { status: 'online' })).not.toHaveProperty('rpc_url');
    expect(await heard('w2', { rpc_url: '' })).not.toHaveProperty('rpc_url');
    expect(await heard('w1')).toMatchObject({ rpc_url: REMOTE.rpc_url });
  });

  it('drains until the drain is cancelled, whatever heartbeats say', async () => {
    await heard('w1');
    expect(await store().workers.drain('w1', true, stamp(1))).toMatchObject({
      drain: true,
      status: 'online',
    });
    expect(await heard('w1')).toMatchObject({ drain: true });
    expect(await store().workers.drain('w1', false, stamp(2))).toMatchObject({ drain: false });
    expect(await store().workers.drain('w2', true, stamp())).toBeUndefined();
  });

  it('accepts workers up to the limit, and known ones always', async () => {
    await store().workers.heard('a', {}, stamp(), { most: 1 });
    await store().workers.heard('a', {}, stamp(), { most: 1 });
    await expect(store().workers.heard('b', {}, stamp(), { most: 1 })).rejects.toMatchObject({
      code: 'resource_limit',
    });
  });

  it('does not let another claim the id of a worker that sends heartbeats', async () => {
    const claim = (print: string, at: number) =>
      store().workers.heard('w1', REMOTE, stamp(at), {
        ...MOST,
        claim: { secret_print: print.repeat(64), silent_since: stamp(at - 90) },
      });
    await heard('w1');
    const claimed = await claim('a', 1);
    expect(claimed).not.toHaveProperty('secret_print');
    await expect(claim('b', 90)).rejects.toMatchObject({ code: 'conflict' });
    expect(await store().workers.get('w1')).toEqual(claimed);
    await claim('a', 90);
    await heard('w1', { status: 'online' }, stamp(100));
    await expect(claim('b', 189)).rejects.toMatchObject({ code: 'conflict' });
    await claim('b', 190);
    await expect(claim('a', 191)).rejects.toMatchObject({ code: 'conflict' });
    await store().workers.remove('w1');
    await claim('a', 192);
  });

  it('removes a worker without sandboxes', async () => {
    await heard('w1');
    await store().sandboxes.reserve({
      sandbox: sandboxRecord({ worker_id: 'w1' }),
      limits: NO_CAP,
      events: [],
    });
    await store().sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] });
    expect(await store().workers.get('w1')).toMatchObject({ active_sandboxes: 1 });
    expect(await heard('local', {})).toMatchObject({ active_sandboxes: 1 });
    const other = sandboxRecord({ worker_id: 'w1', provider: 'container' });
    await store().sandboxes.reserve({ sandbox: other, limits: NO_CAP, events: [] });
    const counts = (await store().workers.list()).map((each) => [each.id, each.active_by_provider]);
    expect(counts).toEqual([
      ['local', { userspace: 1 }],
      ['w1', { container: 1, userspace: 1 }],
    ]);
    expect(await store().workers.remove('w1')).toBe('busy');
    expect(await store().workers.remove('w2')).toBe('absent');
    expect(await store().workers.remove('local')).toBe('busy');
    await heard('w2');
    expect(await store().workers.remove('w2')).toBe('removed');
    expect(await store().workers.get('w2')).toBeUndefined();
  });
}

export function placing({ store, change }: Given): void {
  const heard = (id: string, said: HeartbeatBody = {}, at = stamp()) =>
    store().workers.heard(id, { ...REMOTE, ...said }, at, MOST);
  const reserve = async (placement: Partial<PlacementLimits> = {}, more: Partial<AdmissionLimits> = {}) => {
    const row = sandboxRecord();
    const limits = { ...NO_CAP, ...more, placement: { ...PLACEMENT, ...placement } };
    const events = [eventDraft({ sandbox_id: row.id, data: { worker_id: 'local' } })];
    return store().sandboxes.reserve({ sandbox: row, limits, events });
  };
  const placeOf = async (...given: Parameters<typeof reserve>) => {
    const made = await reserve(...given);
    return made.kind === 'reserved' ? made.sandbox.worker_id : made.kind === 'denied' && made.decision.reason;
  };

  it('chooses this server while it has capacity, then the least loaded worker, ties by id', async () => {
    for (const id of ['b', 'a']) await heard(id);
    await heard('wide', { capacity: { max_sandboxes: 5 } });
    const places = [];
    for (let i = 0; i < 12; i++) places.push(await placeOf({}, { max_provider_sandboxes: 2 }));
    expect(places.slice(0, 2)).toEqual(['local', 'local']);
    expect(places.slice(2, 5)).toEqual(['a', 'b', 'wide']);
    expect(places.filter((place) => place === 'wide')).toHaveLength(5);
    expect(places.slice(11)).toEqual(['worker_capacity']);
  });

  it('passes over those that are stale, drain, lack the provider or cannot be called', async () => {
    await heard('draining');
    await store().workers.drain('draining', true, stamp());
    await heard('leaving', { status: 'draining' });
    await heard('gone', { status: 'offline' });
    await heard('other', { providers: ['container'] });
    await heard('stale', {}, stamp(-60));
    const { rpc_url: _, ...mute } = REMOTE;
    await store().workers.heard('mute', mute, stamp(), MOST);
    expect(await placeOf({ local: false })).toBe('worker_unavailable');
    await heard('fit');
    expect(await placeOf({ local: false, remote: false })).toBe('worker_unavailable');
    expect([await placeOf({ local: false }), await placeOf({ local: false })]).toEqual(['fit', 'fit']);
    expect(await placeOf({ local: false })).toBe('worker_capacity');
    await store().workers.heard('local', {}, stamp(), MOST);
    await store().workers.drain('local', true, stamp());
    expect(await placeOf()).toBe('worker_capacity');
  });

  it('chooses only a worker that meets the demand, and reports why none does', async () => {
    await heard('a');
    await heard('b', { labels: { gpu: 't4' } });
    await store().workers.heard('local', { labels: { zone: 'here' } }, stamp(), MOST);
    expect(await placeOf({ demand: { worker_id: 'b' } })).toBe('b');
    expect(await placeOf({ demand: { labels: { gpu: 'a100', zone: 'b' } } })).toBe('a');
    expect(await placeOf({ demand: { labels: { zone: 'here' } } })).toBe('local');
    const why = async (demand: PlacementLimits['demand']) => {
      const made = await reserve({ demand });
      return made.kind === 'denied' ? [made.decision.reason, made.decision.message] : made.kind;
    };
    expect(await why({ labels: { gpu: 'h100' } })).toEqual([
      'worker_mismatch',
      'No worker has the label gpu=h100. Existing labels: gpu=a100, gpu=t4, zone=b, zone=here.',
    ]);
    expect(await why({ worker_id: 'c' })).toEqual(['worker_mismatch', 'There is no worker c.']);
    await heard('a', { providers: ['container'] });
    expect(await why({ worker_id: 'a' })).toEqual([
      'worker_mismatch',
      'Worker a lacks provider userspace; offered: container.',
    ]);
    await heard('b', {}, stamp(-60));
    expect(await why({ worker_id: 'b' })).toEqual([
      'worker_unavailable',
      'Worker b is offline, draining, or cannot be called.',
    ]);
    await store().workers.drain('local', true, stamp());
    expect((await why({ worker_id: 'local', labels: { zone: 'here' } }))[0]).toBe('worker_mismatch');
  });

  it('prefers a worker that has the image, while it has capacity', async () => {
    await heard('a');
    await heard('b', { images: ['debian:12', 'tool:1'] });
    const images = ['docker.io/library/tool:1', 'tool:1'];
    expect(await placeOf({ local: false })).toBe('a');
    expect(await placeOf({ local: false, images })).toBe('b');
    expect(await placeOf({ local: true, images })).toBe('local');
    await heard('b', {});
    expect(await placeOf({ local: false, images })).toBe('b');
    expect(await placeOf({ local: false, images })).toBe('a');
    await heard('c', { images: ['tool:1'] });
    await heard('c', { images: [] });
    expect(await store().workers.get('b')).not.toHaveProperty('images');
    expect(await placeOf({ local: false, images: ['none'] })).toBe('c');
  });

  it('writes row, lease and events of the worker that was chosen', async () => {
    await heard('w1');
    const made = await reserve({ local: false });
    if (made.kind !== 'reserved') throw new Error(made.kind);
    const { id } = made.sandbox;
    expect(made.events).toMatchObject([{ data: { worker_id: 'w1' } }]);
    expect(await store().sandboxes.get(id)).toMatchObject({ worker_id: 'w1' });
    expect(await store().leases.list()).toEqual([
      { resource_id: id, holder_id: 'w1', generation: 1, expires_at: stamp(90), created_at: stamp() },
    ]);
    expect(await reserve()).toMatchObject({ kind: 'reserved', sandbox: { worker_id: 'local' } });
    expect(await store().leases.list()).toHaveLength(1);
    const asked = { provider: 'userspace', ttlMs: 1 };
    expect(await store().sandboxes.admission(asked, { ...NO_CAP, placement: PLACEMENT })).toMatchObject({
      placement: { worker_id: 'local', eligible: 2 },
    });
  });

  it('spreads orders at once over workers with capacity, and fills them exactly', async () => {
    const capacity = { max_sandboxes: 4, memory_mb: 8, vcpus: 4 };
    for (const id of ['w1', 'w2', 'w3']) await heard(id, { ...REMOTE, capacity });
    const limits: AdmissionLimits = { ...NO_CAP, placement: { ...PLACEMENT, local: false } };
    const reserve = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () =>
          store().sandboxes.reserve({ sandbox: sandboxRecord(), limits, events: [] }),
        ),
      );
    const loads = async () => (await store().workers.list()).map(({ active_sandboxes }) => active_sandboxes);
    await reserve(6);
    expect(await loads()).toEqual([2, 2, 2]);
    const made = await reserve(9);
    expect(made.filter(({ kind }) => kind === 'denied')).toHaveLength(3);
    expect(await loads()).toEqual([4, 4, 4]);
    expect(await store().leases.list()).toHaveLength(12);
  });

  it('places orders at once on workers that have the provider of each', async () => {
    for (const provider of ['container', 'userspace'])
      await heard(`of-${provider}`, { providers: [provider] });
    const limits: AdmissionLimits = { ...NO_CAP, placement: { ...PLACEMENT, local: false } };
    const made = await Promise.all(
      ['container', 'userspace', 'microvm', 'container'].map((provider) =>
        store().sandboxes.reserve({ sandbox: sandboxRecord({ provider }), limits, events: [] }),
      ),
    );
    const places = made.map((each) => (each.kind === 'reserved' ? each.sandbox.worker_id : each.kind));
    expect(places).toEqual(['of-container', 'of-userspace', 'denied', 'of-container']);
  });

  it('frees the place and the lease on a worker when the row ends', async () => {
    await heard('w1', { capacity: { max_sandboxes: 1 } });
    for (const end of ['destroyed', 'error'] as const) {
      const made = await reserve({ local: false });
      expect(await placeOf({ local: false })).toBe('worker_capacity');
      const { sandbox } = made as { sandbox: SandboxRecord };
      await change(sandbox, { state: 'destroying' });
      expect(await store().leases.get(sandbox.id)).toBeDefined();
      await change({ ...sandbox, state: 'destroying' }, { state: end, ended_at: stamp() });
      expect(await store().leases.list()).toEqual([]);
    }
  });

  it('renews for its holder while the sandbox is alive, and never to an earlier end', async () => {
    await heard('w1');
    const { sandbox } = (await reserve({ local: false })) as { sandbox: SandboxRecord };
    const renew = (holder: string, until: number) => store().leases.renew(sandbox.id, holder, stamp(until));
    expect(await renew('w1', 200)).toMatchObject({ generation: 2, expires_at: stamp(200) });
    expect(await renew('w1', 100)).toMatchObject({ generation: 3, expires_at: stamp(200) });
    expect(await renew('w2', 300)).toBeUndefined();
    expect(await store().leases.renew('sb-0', 'w1', stamp(1))).toBeUndefined();
    await change(sandbox, { state: 'destroying' });
    expect(await renew('w1', 400)).toBeUndefined();
    expect(await store().leases.get(sandbox.id)).toMatchObject({ generation: 3 });
  });

  it('ends a sandbox only under the lease generation that was judged', async () => {
    await heard('w1');
    const { sandbox } = (await reserve({ local: false })) as { sandbox: SandboxRecord };
    await store().leases.renew(sandbox.id, 'w1', stamp(200));
    const lost = (lease_generation: number) => change(sandbox, { state: 'destroying' }, { lease_generation });
    expect(await lost(1)).toBeUndefined();
    expect((await store().sandboxes.get(sandbox.id))?.state).toBe('creating');
    expect((await lost(2))?.sandbox.state).toBe('destroying');
  });
}
