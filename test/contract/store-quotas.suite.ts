// The contract of stores: owner quotas, and what admission makes of them.
import { expect, it } from 'vitest';
import type { Quota } from '../../src/schema/quota.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const quotaOf = (owner_id: string, facts: Partial<Quota> = {}): Quota => ({
  ...{ owner_id, max_sandboxes: 0, max_ttl: '0s', max_exec_timeout: '0s' },
  ...{ created_at: stamp(), updated_at: stamp() },
  ...facts,
});
const OWNER_CAP = { max_sandboxes: 2, maxTtlMs: 3_600_000, maxExecTimeoutMs: 0 };

export function quotas({ store, put }: Given): void {
  it('reads a row together with the quota of its owner', async () => {
    const { sandboxes, quotas } = store();
    const [mine, nobodys] = [await put({ owner_id: 'ann' }), await put()];
    expect(await sandboxes.getWithQuota(mine.id)).toEqual({ sandbox: mine });
    await quotas.put(quotaOf('ann', { max_sandboxes: 3 }), []);
    const quota = quotaOf('ann', { max_sandboxes: 3 });
    expect(await sandboxes.getWithQuota(mine.id)).toEqual({ sandbox: mine, quota });
    expect(await sandboxes.getWithQuota(nobodys.id)).toEqual({ sandbox: nobodys });
    expect(await sandboxes.getWithQuota('sb-nobody')).toBeUndefined();
  });

  it('keeps a quota, replaces it whole, and remembers since when there is one', async () => {
    const event = eventDraft({ type: 'quota.saved', owner_id: 'ann', data: { owner_id: 'ann' } });
    const made = await store().quotas.put(quotaOf('ann', { max_sandboxes: 3, max_ttl: '2h' }), [event]);
    expect(made.quota).toEqual(quotaOf('ann', { max_sandboxes: 3, max_ttl: '2h' }));
    expect(made.events).toEqual([event]);
    const later = quotaOf('ann', {
      max_exec_timeout: '5m',
      created_at: stamp(60),
      updated_at: stamp(60),
    });
    expect((await store().quotas.put(later, [])).quota).toEqual({ ...later, created_at: stamp() });
    expect(await store().quotas.get('ann')).toEqual({ ...later, created_at: stamp() });
    expect(await store().quotas.get('Ann')).toBeUndefined();
    expect(await store().events.since(0, 10)).toEqual([{ ...event, id: expect.any(Number) }]);
  });

  it('deletes once, and writes nothing for an unknown owner', async () => {
    await store().quotas.put(quotaOf('ann'), []);
    const event = eventDraft({ type: 'quota.deleted', owner_id: 'ann' });
    expect(await store().quotas.delete('bob', [event])).toBeUndefined();
    expect(await store().quotas.delete('ann', [event])).toMatchObject({ events: [event] });
    expect(await store().quotas.delete('ann', [event])).toBeUndefined();
    expect(await store().quotas.get('ann')).toBeUndefined();
    expect(await store().events.since(0, 10)).toHaveLength(1);
  });

  it('lists newest first, page by page, and owners of one instant by their bytes', async () => {
    const owners = ['b', 'a', 'ü', 'Z', '\u{1f600}', '\uffff'];
    for (const [i, owner] of owners.entries())
      await store().quotas.put(quotaOf(owner, { created_at: stamp(i < 2 ? 0 : 1) }), []);
    const all = (await store().quotas.list(100)).map(({ owner_id }) => owner_id);
    expect(all).toEqual(['\u{1f600}', '\uffff', 'ü', 'Z', 'b', 'a']);
    const walked: string[] = [];
    for (let after: { created_at: string; id: string } | undefined; ; ) {
      const [one] = await store().quotas.list(1, after);
      if (!one) break;
      walked.push(one.owner_id);
      after = { created_at: one.created_at, id: one.owner_id };
    }
    expect(walked).toEqual(all);
  });

  it('counts what quotas say, and an owner’s sandboxes that have not ended', async () => {
    await store().quotas.put(quotaOf('a', { max_sandboxes: 1 }), []);
    await store().quotas.put(quotaOf('b', { max_ttl: '1h', max_exec_timeout: '1s' }), []);
    await store().quotas.put(quotaOf('c'), []);
    expect(await store().quotas.summary()).toEqual({
      ...{ total: 3, with_max_sandboxes: 1, with_max_ttl: 1, with_max_exec_timeout: 1 },
    });
    for (const state of ['creating', 'running', 'unhealthy', 'destroying', 'destroyed', 'error'] as const)
      await store().sandboxes.reserve({
        sandbox: sandboxRecord({ state, owner_id: 'c' }),
        limits: NO_CAP,
        events: [],
      });
    expect(await store().quotas.usage('c')).toEqual({ active_sandboxes: 4, quota: quotaOf('c') });
    expect(await store().quotas.usage('nobody')).toEqual({ active_sandboxes: 0 });
  });

  it('names everybody who has a quota, a sandbox or use, page by page by their bytes', async () => {
    const { quotas, sandboxes } = store();
    const owners = ['b', 'a', 'ü', 'Z', '\u{1f600}', '\uffff'];
    for (const owner of owners.slice(0, 3)) await quotas.put(quotaOf(owner), []);
    for (const [owner_id, state] of [
      ...owners.slice(2).map((one) => [one, 'running'] as const),
      ['ended', 'error'] as const,
    ])
      await sandboxes.reserve({ sandbox: sandboxRecord({ owner_id, state }), limits: NO_CAP, events: [] });
    await sandboxes.reserve({ sandbox: sandboxRecord({}), limits: NO_CAP, events: [] });
    const walked: { owner_id: string }[] = [];
    for (let after: string | undefined; ; after = walked.at(-1)?.owner_id) {
      const page = await quotas.owners(2, after);
      walked.push(...page);
      if (page.length < 2) break;
    }
    expect(walked.map(({ owner_id }) => owner_id)).toEqual([
      'Z',
      'a',
      'b',
      'ended',
      'ü',
      '\uffff',
      '\u{1f600}',
    ]);
    expect(walked[4]).toEqual({ owner_id: 'ü', active_sandboxes: 1, quota: quotaOf('ü') });
    expect(walked[3]).toEqual({ owner_id: 'ended', active_sandboxes: 0 });
    expect(await quotas.owners(2, '\u{1f600}')).toEqual([]);
  });

  it('counts active sandboxes of an owner that end later', async () => {
    for (const [expires_at, state] of [
      [stamp(10), 'running'],
      [stamp(20), 'running'],
      [stamp(20), 'error'],
    ] as const)
      await store().sandboxes.reserve({
        sandbox: sandboxRecord({ owner_id: 'c', expires_at, state }),
        limits: NO_CAP,
        events: [],
      });
    expect(await store().quotas.endingAfter('c', stamp(10))).toBe(1);
    expect(await store().quotas.endingAfter('d', stamp(0))).toBe(0);
  });
}

export function admitting({ store, change }: Given): void {
  const limits = { ...NO_CAP, owner: OWNER_CAP };
  const reserve = (owner_id: string | undefined, facts = {}) =>
    store().sandboxes.reserve({
      sandbox: sandboxRecord({ ...(owner_id !== undefined && { owner_id }), ...facts }),
      limits,
      events: [],
    });

  it('counts each owner alone, and sandboxes without an owner for nobody', async () => {
    const made = [await reserve('ann'), await reserve('ann'), await reserve('bob')];
    expect(made.map(({ kind }) => kind)).toEqual(['reserved', 'reserved', 'reserved']);
    expect(await reserve('ann')).toMatchObject({
      kind: 'denied',
      decision: {
        ...{ reason: 'max_sandboxes_per_owner', active_sandboxes: 3 },
        ...{ active_owner_sandboxes: 2, max_owner_sandboxes: 2 },
      },
    });
    for (let i = 0; i < 3; i++) expect(await reserve(undefined)).toMatchObject({ kind: 'reserved' });
  });

  it('applies the quota instead of the default, higher or lower, from its commit on', async () => {
    await store().quotas.put(quotaOf('ann', { max_sandboxes: 1 }), []);
    await store().quotas.put(quotaOf('bob', { max_sandboxes: 3 }), []);
    expect(await reserve('ann')).toMatchObject({ kind: 'reserved' });
    expect(await reserve('ann')).toMatchObject({ decision: { max_owner_sandboxes: 1 } });
    for (let i = 0; i < 3; i++) expect(await reserve('bob')).toMatchObject({ kind: 'reserved' });
    expect(await reserve('bob')).toMatchObject({ decision: { max_owner_sandboxes: 3 } });
    await store().quotas.delete('ann', []);
    expect(await reserve('ann')).toMatchObject({ kind: 'reserved' });
  });

  it('refuses a life over the owner’s maximum before it counts', async () => {
    const long = { expires_at: stamp(3601) };
    expect(await reserve('ann', long)).toMatchObject({
      decision: { reason: 'max_ttl', maxTtlMs: 3_600_000 },
    });
    await store().quotas.put(quotaOf('ann', { max_ttl: '2h' }), []);
    expect(await reserve('ann', long)).toMatchObject({ kind: 'reserved' });
  });

  it('frees the owner’s place with the row’s end', async () => {
    const row = sandboxRecord({ owner_id: 'ann' });
    await store().sandboxes.reserve({ sandbox: row, limits, events: [] });
    await reserve('ann');
    await change(row, { state: 'error', ended_at: stamp(1), end_reason: 'spawn_failed' });
    expect(await reserve('ann')).toMatchObject({ kind: 'reserved' });
    expect(await reserve('ann')).toMatchObject({ kind: 'denied' });
  });

  it('decides a dry run like a spawn, and writes nothing', async () => {
    for (const owner_id of ['ann', 'ann', 'ann', undefined] as const) {
      const asked = { provider: 'userspace', ...(owner_id && { owner_id }), ttlMs: 1_800_000 };
      const answer = await store().sandboxes.admission(asked, limits);
      const deed = await reserve(owner_id);
      expect(answer.allowed).toBe(deed.kind === 'reserved');
      if (deed.kind === 'denied') expect(deed.decision).toEqual(answer);
    }
    expect(await store().sandboxes.countActive()).toMatchObject({ total: 3 });
  });
}
