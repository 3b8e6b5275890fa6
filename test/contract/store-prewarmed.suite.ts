// The contract of stores: warm sandboxes, which are no sandboxes until one is taken.
import { expect, it } from 'vitest';
import type { PrewarmedRecord } from '../../src/store/seam/prewarmed.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp, warmRecord } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const PLACEMENT = {
  heartbeat_after: stamp(-60),
  local: true,
  remote: true,
  sessions: true,
  lease_until: stamp(90),
};
const CLAIM = { scope: 'alice', key: 'k1', fingerprint: 'f1' };

const EGRESS = { mode: 'gate' as const, spawn: { allow: ['api.example.com'] } };
const DIGEST = `sha256:${'a'.repeat(64)}`;

export function warm({ store, put }: Given): void {
  const ready = async (facts: Partial<PrewarmedRecord> = {}) => {
    const record = warmRecord(facts);
    await store().warm.reserve(record, NO_CAP);
    const made = {
      ...record,
      ...{ state: 'ready' as const, runtime_id: 'r1', image: 'real', image_digest: DIGEST, warnings: ['w'] },
    };
    expect(await store().warm.ready(made)).toBe(true);
    return made;
  };
  const take = (warmed: PrewarmedRecord, limits = NO_CAP, claim?: typeof CLAIM) => {
    const { id, epoch, runtime_id = '', image_digest = '', replica_id } = warmed;
    const facts = { id, epoch, runtime_id, image_digest, state: 'running' as const, owner_id: 'alice' };
    const row = sandboxRecord({ ...facts, egress: EGRESS });
    return store().sandboxes.reserve({
      sandbox: row,
      limits,
      events: [eventDraft()],
      claim,
      warm: { response: '{"id":1}', replica_id },
    });
  };

  it('lists starting and ready ones, oldest first, but never as sandboxes', async () => {
    const second = await ready({ created_at: stamp(2) });
    const first = warmRecord({ created_at: stamp(1) });
    expect(await store().warm.reserve(first, NO_CAP)).toEqual(first);
    expect(await store().warm.all()).toEqual([first, second]);
    expect(await store().warm.get(second.id)).toEqual(second);
    expect(await store().warm.ready({ ...first, id: 'sb-nobody' })).toBe(false);
    expect(await store().warm.ready(second)).toBe(false);
    expect(await store().sandboxes.list({ limit: 10, include_ended: true })).toEqual([]);
    expect(await store().sandboxes.countActive()).toEqual({ total: 0, by_provider: {} });
    expect(await store().sandboxes.nextDeadline()).toBeUndefined();
    await store().warm.remove(first.id);
    await store().warm.remove(first.id);
    expect(await store().warm.get(first.id)).toBeUndefined();
  });

  it('counts against the limits for other ready ones, but not for sandboxes', async () => {
    await put();
    await put({ provider: 'other' });
    const reserve = (limits: object, facts = {}) =>
      store().warm.reserve(warmRecord(facts), { ...NO_CAP, ...limits });
    expect(await reserve({ max_sandboxes: 2 })).toBeUndefined();
    expect(await reserve({ max_provider_sandboxes: 1 })).toBeUndefined();
    expect(await reserve({ max_sandboxes: 3, max_provider_sandboxes: 2 })).toBeDefined();
    expect(await reserve({ max_sandboxes: 3 })).toBeUndefined();
    expect(await reserve({ max_provider_sandboxes: 2 })).toBeUndefined();
    expect(await reserve({ max_provider_sandboxes: 1 }, { provider: 'third' })).toBeDefined();
    const spawned = store().sandboxes.reserve({
      sandbox: sandboxRecord(),
      limits: { ...NO_CAP, max_sandboxes: 3 },
      events: [],
    });
    expect(await spawned).toMatchObject({ kind: 'reserved' });
  });

  it('becomes a sandbox in one step, with its answer under the key', async () => {
    const warmed = await ready();
    const taken = await take(warmed, NO_CAP, CLAIM);
    expect(taken).toMatchObject({ kind: 'reserved', sandbox: { id: warmed.id, state: 'running' } });
    expect(await store().warm.all()).toEqual([]);
    expect(await store().sandboxes.get(warmed.id)).toMatchObject({
      owner_id: 'alice',
      runtime_id: 'r1',
      image_digest: DIGEST,
      egress: EGRESS,
    });
    expect((await store().sandboxes.countActive()).total).toBe(1);
    expect(await store().events.since(0, 10)).toHaveLength(1);
    expect(await take(await ready(), NO_CAP, CLAIM)).toMatchObject({ kind: 'replay', response: '{"id":1}' });
    expect(await store().warm.all()).toHaveLength(1);
  });

  it('is taken by one of many callers, only if it is ready, present and of that epoch', async () => {
    const warmed = await ready();
    const rivals = await Promise.all(Array.from({ length: 20 }, () => take(warmed)));
    expect(rivals.filter(({ kind }) => kind === 'reserved')).toHaveLength(1);
    expect(rivals.filter(({ kind }) => kind === 'gone')).toHaveLength(19);
    const other = await ready();
    expect(await take({ ...other, epoch: 2 })).toEqual({ kind: 'gone' });
    const starting = warmRecord();
    await store().warm.reserve(starting, NO_CAP);
    expect(await take(starting)).toEqual({ kind: 'gone' });
    expect(await store().events.since(0, 10)).toHaveLength(1);
    expect(await store().warm.all()).toHaveLength(2);
  });

  const claim = (shape: string, replica_id: string, more: object = {}) =>
    store().warm.take({ shape, replica_id, ...more });

  it('is claimed by one of many replicas, the oldest first, until it is put back', async () => {
    const [second, first] = [await ready({ created_at: stamp(2) }), await ready({ created_at: stamp(1) })];
    await ready({ shape: 'other' });
    await store().warm.reserve(warmRecord(), NO_CAP);
    expect(await claim('s', 'r-1')).toEqual({ ...first, replica_id: 'r-1' });
    expect(await claim('s', 'r-2')).toEqual({ ...second, replica_id: 'r-2' });
    expect(await claim('s', 'r-3')).toBeUndefined();
    await store().warm.putBack(first.id, 'r-2');
    expect(await claim('s', 'r-3')).toBeUndefined();
    await store().warm.putBack(first.id, 'r-1');
    await store().warm.putBack(first.id, 'r-1');
    expect(await store().warm.get(first.id)).toEqual(first);
    const rivals = await Promise.all(['r-1', 'r-2', 'r-3', 'r-4'].map((replica) => claim('s', replica)));
    expect(rivals.filter((row) => row !== undefined)).toMatchObject([{ id: first.id }]);
  });

  it('becomes a sandbox for the replica that claimed it alone', async () => {
    const warmed = await ready();
    const order = (replica_id?: string) => ({
      sandbox: sandboxRecord({ id: warmed.id, epoch: warmed.epoch, state: 'running' }),
      ...{ limits: NO_CAP, events: [], warm: { response: '{}', replica_id } },
    });
    expect(await store().sandboxes.reserve(order('r-1'))).toEqual({ kind: 'gone' });
    await claim('s', 'r-1');
    expect(await store().sandboxes.reserve(order())).toEqual({ kind: 'gone' });
    expect(await store().sandboxes.reserve(order('r-2'))).toEqual({ kind: 'gone' });
    expect(await store().sandboxes.reserve(order('r-1'))).toMatchObject({ kind: 'reserved' });
    expect(await store().sandboxes.reserve(order('r-1'))).toEqual({ kind: 'gone' });
    await store().warm.putBack(warmed.id, 'r-1');
    expect(await store().warm.all()).toEqual([]);
  });

  it('is nobody’s to take once a replica ends it, which only the one that has it may', async () => {
    const [free, claimed] = [await ready({ created_at: stamp(1) }), await ready({ created_at: stamp(2) })];
    expect(await store().warm.end(free.id, 'r-2', 'r-2')).toBe(false);
    expect(await store().warm.end(free.id, undefined, 'r-1')).toBe(true);
    expect(await store().warm.end(free.id, undefined, 'r-1')).toBe(true);
    expect(await store().warm.end(free.id, undefined, 'r-2')).toBe(false);
    await store().warm.putBack(free.id, 'r-1');
    expect(await store().warm.get(free.id)).toEqual({ ...free, state: 'ending', replica_id: 'r-1' });
    expect(await claim('s', 'r-3')).toMatchObject({ id: claimed.id });
    expect(await store().warm.end(claimed.id, undefined, 'r-1')).toBe(false);
    expect(await store().warm.end(claimed.id, 'r-3', 'r-1')).toBe(true);
    expect(await take({ ...claimed, replica_id: 'r-3' })).toEqual({ kind: 'gone' });
    expect(await store().warm.end('sb-nobody', undefined, 'r-1')).toBe(false);
  });

  it('is made ready by the replica that starts it, unless another one ends it', async () => {
    const starting = warmRecord({ replica_id: 'r-1' });
    await store().warm.reserve(starting, NO_CAP);
    expect(await store().warm.get(starting.id)).toEqual(starting);
    expect(await store().warm.ready({ ...starting, replica_id: 'r-2' })).toBe(false);
    expect(await store().warm.ready({ ...starting, state: 'ready' })).toBe(true);
    expect(await store().warm.get(starting.id)).toEqual({ ...warmRecord(), id: starting.id, state: 'ready' });
    const lost = warmRecord({ replica_id: 'r-1' });
    await store().warm.reserve(lost, NO_CAP);
    expect(await store().warm.end(lost.id, 'r-1', 'r-2')).toBe(true);
    expect(await store().warm.ready({ ...lost, state: 'ready' })).toBe(false);
  });

  it('is made only as often as its shape is wanted, however many makers there are', async () => {
    const making = (shape = 's') => store().warm.reserve(warmRecord({ shape }), NO_CAP, 2);
    const made = await Promise.all([making(), making(), making(), making(), making('other')]);
    expect(made.filter((row) => row !== undefined)).toHaveLength(3);
    const [one] = await store().warm.all();
    await store().warm.end(one?.id ?? '', undefined, 'r-1');
    expect(await making(one?.shape)).toBeDefined();
  });

  it('is left alone by a spawn that is not admitted', async () => {
    await put();
    const warmed = await ready();
    expect(await take(warmed, { ...NO_CAP, max_sandboxes: 1 })).toMatchObject({ kind: 'denied' });
    expect(await store().warm.get(warmed.id)).toEqual(warmed);
  });

  const placed = (facts: object = {}) => ({ ...NO_CAP, placement: { ...PLACEMENT, ...facts } });
  const heard = (id: string, max_sandboxes = 0, capabilities = ['sessions']) =>
    store().workers.heard(
      id,
      {
        ...{ status: 'online', providers: ['userspace'], capabilities, rpc_url: 'http://10.0.0.2:1' },
        capacity: { max_sandboxes },
      },
      stamp(),
      { most: 100 },
    );
  const at = async (limits = placed(), facts: Partial<PrewarmedRecord> = {}) =>
    (await store().warm.reserve(warmRecord(facts), limits))?.worker_id;

  it('is placed on this server while it has capacity, then on a worker with capacity and sessions', async () => {
    await heard('w0', 0, []);
    await heard('w1', 2);
    await heard('w2', 4);
    const limits = { ...placed(), max_provider_sandboxes: 1 };
    expect(await at(limits)).toBe('local');
    expect([await at(limits), await at(limits), await at(limits)].sort()).toEqual(['w1', 'w2', 'w2']);
    expect(await at({ ...limits, max_sandboxes: 4 })).toBeUndefined();
    await store().workers.drain('w2', true, stamp());
    expect([await at(limits), await at(limits)]).toEqual(['w1', undefined]);
    expect(await at(placed({ remote: false }))).toBe('local');
    await store().workers.drain('local', true, stamp());
    expect(await store().workers.remove('w1')).toBe('busy');
    const held = (await store().workers.list()).map((each) => [each.id, each.prewarmed_sandboxes]);
    expect(held).toEqual([
      ['w0', 0],
      ['w1', 2],
      ['w2', 2],
    ]);
    for (const { id } of await store().warm.all()) await store().warm.remove(id);
    expect(await store().workers.get('w1')).toMatchObject({ prewarmed_sandboxes: 0, active_sandboxes: 0 });
  });

  it('holds a lease that its worker renews, and releases it at its end', async () => {
    await heard('w1');
    const remote = placed({ local: false });
    const row = await store().warm.reserve(warmRecord(), remote);
    expect(row).toMatchObject({ worker_id: 'w1' });
    const { id = '' } = row ?? {};
    expect(await store().warm.get(id)).toEqual(row);
    expect(await store().leases.list()).toEqual([
      {
        ...{ resource_id: id, holder_id: 'w1', generation: 1 },
        ...{ expires_at: stamp(90), created_at: stamp() },
      },
    ]);
    expect(await store().leases.renew(id, 'w2', stamp(120))).toBeUndefined();
    expect(await store().leases.renew(id, 'w1', stamp(120))).toMatchObject({ generation: 2 });
    await store().warm.remove(id);
    expect(await store().leases.list()).toEqual([]);
    expect(await store().leases.renew(id, 'w1', stamp(150))).toBeUndefined();
  });

  it('is claimed on this server first, and only on workers that the replica accepts', async () => {
    await heard('w1');
    await heard('w2');
    const makeOn = async (on: string) => {
      const limits = on === 'local' ? NO_CAP : placed({ local: false, on });
      const warmed = await store().warm.reserve(
        warmRecord({ created_at: stamp(on === 'local' ? 9 : 1) }),
        limits,
      );
      await store().warm.ready({ ...(warmed as PrewarmedRecord), state: 'ready' });
    };
    for (const on of ['w1', 'local', 'w2', 'w1']) await makeOn(on);
    const claimOn = async (more = {}) => (await claim('s', 'r-1', more))?.worker_id;
    expect(await claimOn({ except: ['w1', 'local'] })).toBe('w2');
    expect(await claimOn({ worker_id: 'w1' })).toBe('w1');
    expect(await claimOn({ worker_id: 'w1', except: ['w1'] })).toBeUndefined();
    expect([await claimOn(), await claimOn(), await claimOn()]).toEqual(['local', 'w1', undefined]);
  });

  it('is taken where it runs, with its lease, unless its worker drains', async () => {
    await heard('w1', 1);
    await heard('w2');
    const remote = placed({ local: false, sessions: true });
    const warmed = await store().warm.reserve(warmRecord(), placed({ local: false, on: 'w1' }));
    const { id = '', epoch = 1, worker_id = '' } = warmed ?? {};
    await store().warm.ready({ ...(warmed as PrewarmedRecord), state: 'ready', runtime_id: 'r1' });
    await store().leases.renew(id, worker_id, stamp(120));
    const row = sandboxRecord({ id, epoch, worker_id, runtime_id: 'r1', state: 'running' });
    const takeOn = () =>
      store().sandboxes.reserve({
        sandbox: row,
        limits: { ...remote, placement: { ...remote.placement, on: worker_id } },
        events: [eventDraft({ data: { worker_id: 'local' } })],
        warm: { response: '{}' },
      });
    await store().workers.drain(worker_id, true, stamp());
    expect(await takeOn()).toMatchObject({ kind: 'denied', decision: { reason: 'worker_unavailable' } });
    await store().workers.drain(worker_id, false, stamp());
    expect(await takeOn()).toMatchObject({
      ...{ kind: 'reserved', sandbox: { worker_id }, events: [{ data: { worker_id } }] },
    });
    expect(await store().leases.list()).toMatchObject([{ resource_id: id, generation: 2 }]);
    await store().warm.remove(id);
    expect(await store().leases.get(id)).toMatchObject({ holder_id: worker_id });
    await store().sandboxes.transition({
      ...{ id, from: ['running'], epoch, patch: { state: 'destroyed' }, events: [] },
    });
    expect(await store().leases.list()).toEqual([]);
  });

  it('fills the capacity of workers exactly, however many start at once', async () => {
    await heard('w1', 2);
    await heard('w2', 3);
    const rivals = await Promise.all(Array.from({ length: 12 }, () => at(placed({ local: false }))));
    const full = ['w1', 'w1', 'w2', 'w2', 'w2'];
    expect(rivals.filter((id) => id !== undefined).sort()).toEqual(full);
    expect((await store().leases.list()).map(({ holder_id }) => holder_id).sort()).toEqual(full);
    expect((await store().warm.all()).map(({ worker_id }) => worker_id).sort()).toEqual(full);
  });

  it('is either taken with its lease or removed with it', async () => {
    await heard('w1');
    const remote = placed({ local: false });
    const limits = { ...remote, placement: { ...remote.placement, on: 'w1' } };
    for (let round = 0; round < 10; round++) {
      const warmed = (await store().warm.reserve(warmRecord(), remote)) as PrewarmedRecord;
      const { id, epoch, worker_id } = warmed;
      await store().warm.ready({ ...warmed, state: 'ready', runtime_id: 'r1' });
      const row = sandboxRecord({ id, epoch, worker_id, runtime_id: 'r1', state: 'running' });
      const order = { sandbox: row, limits, events: [], warm: { response: '{}' } };
      const removing = () => store().warm.remove(id);
      const [taken] = await Promise.all([store().sandboxes.reserve(order), removing(), removing()]);
      expect((await store().leases.get(id))?.holder_id).toBe(taken.kind === 'reserved' ? 'w1' : undefined);
      expect((await store().sandboxes.get(id))?.state).toBe(
        taken.kind === 'reserved' ? 'running' : undefined,
      );
    }
  });

  it('counts as load of its worker for a spawn, but not against its capacity', async () => {
    await heard('w1', 2);
    await heard('w2', 2);
    const remote = placed({ local: false });
    const first = await store().warm.reserve(warmRecord(), remote);
    const spawn = async () => {
      const reserved = await store().sandboxes.reserve({
        sandbox: sandboxRecord(),
        limits: remote,
        events: [],
      });
      return reserved.kind === 'reserved' ? reserved.sandbox.worker_id : reserved.kind;
    };
    const other = first?.worker_id === 'w1' ? 'w2' : 'w1';
    expect(await spawn()).toBe(other);
    expect((await Promise.all([spawn(), spawn(), spawn()])).sort()).toEqual(['w1', 'w1', 'w2']);
    expect(await spawn()).toBe('denied');
  });
}
