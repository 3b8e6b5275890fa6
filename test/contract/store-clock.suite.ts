// The mark of the wall clock, and what moves with it.
import { expect, it } from 'vitest';
import type { SandboxRecord, Store } from '../../src/store/store.ts';
import { NO_CAP, sandboxRecord, stamp } from '../support/records.ts';

interface Given {
  store(): Store;
  put(facts?: Partial<SandboxRecord>): Promise<SandboxRecord>;
}

const CLAIM = { scope: 's', key: 'k', fingerprint: 'f' };
const MARK = { boot_id: 'boot-1', distance_ms: 1_767_323_045_123 };

export function clocked({ store, put }: Given): void {
  it('has one mark, the newest', async () => {
    expect(await store().clock.mark()).toBeUndefined();
    await store().clock.set(MARK, 0);
    await store().clock.set({ ...MARK, boot_id: 'boot-2' }, 0);
    expect(await store().clock.mark()).toEqual({ ...MARK, boot_id: 'boot-2' });
  });

  it.each([7200, -7200, 0.001, -86_400 * 400])('moves the compared stamps by %d s', async (by) => {
    const live = await put({ expires_at: stamp(600) });
    const ended = await put({ expires_at: stamp(600), state: 'destroyed', ended_at: stamp(1) });
    const claimed = sandboxRecord();
    await store().sandboxes.reserve({ sandbox: claimed, limits: NO_CAP, events: [], claim: CLAIM });
    await store().workers.heard('w1', { rpc_url: 'http://w1:1', providers: ['userspace'] }, stamp(5), {
      most: 10,
    });
    const placement = {
      local: false,
      remote: true,
      sessions: false,
      heartbeat_after: stamp(0),
      lease_until: stamp(90),
    };
    const leased = sandboxRecord();
    await store().sandboxes.reserve({ sandbox: leased, limits: { ...NO_CAP, placement }, events: [] });
    expect(await store().sandboxes.get(live.id)).toMatchObject({ expires_at: stamp(600) });

    expect(await store().clock.set(MARK, by * 1000)).toEqual({
      sandboxes: 3,
      leases: 1,
      workers: 1,
      claims: 1,
    });

    expect(await store().sandboxes.get(live.id)).toEqual({ ...live, expires_at: stamp(600 + by) });
    expect(await store().sandboxes.get(ended.id)).toEqual(ended);
    expect(await store().leases.get(leased.id)).toMatchObject({ expires_at: stamp(90 + by), generation: 1 });
    expect(await store().workers.get('w1')).toMatchObject({
      last_heartbeat: stamp(5 + by),
      updated_at: stamp(5),
    });
    expect(await store().idempotency.prune(stamp(by))).toBe(0);
    expect(await store().idempotency.prune(stamp(by + 0.001))).toBe(1);
  });

  it('changes nothing for a shift of zero', async () => {
    const row = await put();
    const none = { sandboxes: 0, leases: 0, workers: 0, claims: 0 };
    expect(await store().clock.set(MARK, 0)).toEqual(none);
    expect(await store().sandboxes.get(row.id)).toEqual(row);
  });
}
