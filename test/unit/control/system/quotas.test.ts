// What one owner may have: quotas set, seen, counted, and in force wherever a limit is asked for.
import { describe, expect, it } from 'vitest';
import { admin, api, forever, owned, roomy, type World, world } from '../../../support/servers/control.ts';

const STAMP = '2026-01-01T00:00:00.000Z';
const [ann, bob] = [owned('ann'), owned('bob')];
const spawn = (w: World, caller = ann, request = {}) =>
  w.control.sandboxes.spawn(request, caller, {}, forever);

describe('quotas', () => {
  it('are made, replaced, listed, counted and deleted, each change with its event', async () => {
    const w = world({ defaults: { max_sandboxes_per_owner: 7 } });
    const { quotas } = w.control;
    expect(await quotas.put(' ann ', { max_sandboxes: 2, max_ttl: '90m' }, api)).toMatchObject({
      ...{ owner_id: 'ann', max_sandboxes: 2, max_ttl: '1h30m', max_exec_timeout: '0s' },
    });
    await w.clock.advance(1000);
    await quotas.put('bob', {}, api);
    await quotas.put('ann', { max_exec_timeout: '1m' }, api);
    const { quotas: all } = await quotas.list({}, api);
    expect(all.map(({ owner_id, max_ttl }) => [owner_id, max_ttl])).toEqual([
      ['bob', '0s'],
      ['ann', '0s'],
    ]);
    expect(await quotas.summary()).toMatchObject({
      total: 2,
      with_max_sandboxes: 0,
      with_max_exec_timeout: 1,
    });
    await quotas.delete('bob', api);
    await expect(quotas.get('bob', api)).rejects.toMatchObject({ code: 'not_found' });
    await expect(quotas.delete('bob', api)).rejects.toMatchObject({ code: 'not_found' });
    const events = await w.events();
    expect(events.map(({ type, owner_id }) => `${type} ${owner_id}`)).toEqual([
      ...['quota.saved ann', 'quota.saved bob', 'quota.saved ann', 'quota.deleted bob'],
    ]);
    expect(events[0]?.data).toMatchObject({ owner_id: 'ann', max_sandboxes: 2, max_ttl: '1h30m' });
    await w.clock.advance(0);
    expect(w.told).toEqual(events.map(({ id: _, ...draft }) => draft));
  });

  it('are listed in pages for owners with any letters', async () => {
    const w = world();
    for (const owner of ['a', 'ü', '\u{1f600}']) await w.control.quotas.put(owner, {}, api);
    const seen: string[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await w.control.quotas.list({ limit: 1, ...(cursor && { cursor }) }, api);
      seen.push(...page.quotas.map(({ owner_id }) => owner_id));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(['\u{1f600}', 'ü', 'a']);
    await expect(w.control.quotas.list({ cursor: 'x' }, api)).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('say what a change would change, and change nothing', async () => {
    const w = world({ defaults: { max_sandboxes_per_owner: 7 } });
    const { quotas } = w.control;
    for (let n = 0; n < 3; n += 1) await spawn(w, ann, { ttl: '1h' });
    const before = { max_sandboxes: 7, max_ttl: '24h', max_exec_timeout: '10m' };
    expect(await quotas.check('ann', { max_sandboxes: 1, max_ttl: '30m' }, ann)).toEqual({
      ...{
        owner_id: 'ann',
        active_sandboxes: 3,
        before: { ...before, max_ttl: expect.any(String), max_exec_timeout: expect.any(String) },
      },
      ...{ after: { max_sandboxes: 1, max_ttl: '30m', max_exec_timeout: expect.any(String) } },
      ...{ over: 2, free: 0, longer: 3 },
    });
    expect(await quotas.check('ann', { max_sandboxes: 5, max_ttl: '2h' }, ann)).toMatchObject({
      ...{ over: 0, free: 2, longer: 0 },
    });
    expect(await quotas.usage('ann', ann)).toMatchObject({ max_sandboxes: 7, quota_configured: false });
    await expect(quotas.check('ann', { max_ttl: 'soon' }, ann)).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('tell of all owners by name, and of those whose name has a text', async () => {
    const w = world({ defaults: { max_sandboxes_per_owner: 7 } });
    const { quotas } = w.control;
    for (const owner of ['team-b', 'Team-a', 'solo']) await quotas.put(owner, { max_sandboxes: 2 }, api);
    await spawn(w, bob);
    const { owners } = await quotas.owners({});
    expect(
      owners.map(({ owner_id, active_sandboxes, max_sandboxes }) => [
        owner_id,
        active_sandboxes,
        max_sandboxes,
      ]),
    ).toEqual([
      ...[
        ['Team-a', 0, 2],
        ['bob', 1, 7],
        ['solo', 0, 2],
        ['team-b', 0, 2],
      ],
    ]);
    const first = await quotas.owners({ q: 'TEAM', limit: 1 });
    expect(first.owners.map(({ owner_id }) => owner_id)).toEqual(['Team-a']);
    const second = await quotas.owners({ q: 'TEAM', limit: 1, cursor: first.next_cursor! });
    expect(second.owners.map(({ owner_id }) => owner_id)).toEqual(['team-b']);
    expect(second.next_cursor).toBeUndefined();
    for (const cursor of ['!', 'x', ''])
      await expect(quotas.owners({ cursor })).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('looks through a bounded number of names for a page, and goes on from there', async () => {
    const w = world();
    for (let n = 0; n < 5100; n += 1)
      await w.store.quotas.put(
        {
          owner_id: `o${String(n).padStart(5, '0')}`,
          max_sandboxes: 0,
          max_ttl: '0s',
          max_exec_timeout: '0s',
          created_at: STAMP,
          updated_at: STAMP,
        },
        [],
      );
    const page = await w.control.quotas.owners({ q: '05099' });
    expect(page.owners).toEqual([]);
    const rest = await w.control.quotas.owners({ q: '05099', cursor: page.next_cursor! });
    expect(rest.owners).toHaveLength(1);
  });

  it('cannot be set for an owner named summary, which gets the defaults', async () => {
    const w = world({ defaults: { max_sandboxes_per_owner: 7 } });
    const { quotas } = w.control;
    await expect(quotas.put('summary', {}, api)).rejects.toMatchObject({ code: 'bad_request' });
    expect(await quotas.usage('summary', api)).toMatchObject({ owner_id: 'summary', max_sandboxes: 7 });
  });

  it('show usage and effective limits, also where nothing is configured', async () => {
    const w = world({ defaults: { max_sandboxes_per_owner: 7, max_ttl: '0s' } });
    const none = { owner_id: 'ann', active_sandboxes: 0, max_sandboxes: 7, max_ttl: '0s' };
    expect(await w.control.quotas.usage('ann', api)).toEqual({
      ...none,
      ...{ max_exec_timeout: '10m', quota_configured: false },
    });
    await w.control.quotas.put('ann', { max_sandboxes: 9, max_exec_timeout: '90s' }, api);
    await spawn(w);
    expect(await w.control.quotas.usage('ann', api)).toEqual({
      ...none,
      ...{ active_sandboxes: 1, max_sandboxes: 9, max_exec_timeout: '1m30s', quota_configured: true },
    });
  });

  it('are private to each owner where owners are enforced', async () => {
    const w = world({ auth: { enforce_owner: true } });
    const { quotas } = w.control;
    await quotas.put('ann', {}, admin);
    await quotas.put('bob', {}, admin);
    expect((await quotas.list({}, ann)).quotas).toMatchObject([{ owner_id: 'ann' }]);
    expect((await quotas.list({}, admin)).quotas).toHaveLength(2);
    expect((await quotas.list({}, owned('cid'))).quotas).toEqual([]);
    for (const call of [
      () => quotas.get('bob', ann),
      () => quotas.usage('bob', ann),
      () => quotas.put('bob', {}, ann),
      () => quotas.delete('bob', ann),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'not_found' });
    await expect(quotas.get('ann', api)).rejects.toMatchObject({ code: 'bad_request' });
    expect(await quotas.get('ann', ann)).toMatchObject({ owner_id: 'ann' });
  });

  it('apply at once to the count, lifetimes and deadlines', async () => {
    const w = world({ defaults: { max_sandboxes_per_owner: 1 } });
    const { id } = await spawn(w);
    const denied = { code: 'resource_limit', details: { reason: 'max_sandboxes_per_owner' } };
    await expect(spawn(w)).rejects.toMatchObject(denied);
    await spawn(w, bob);
    await w.control.quotas.put('ann', { max_sandboxes: 2, max_ttl: '10m', max_exec_timeout: '5s' }, api);
    // Nothing is asked for: the default life is cut to what is allowed.
    const sandbox = await spawn(w);
    expect(Date.parse(sandbox.expires_at) - Date.parse(sandbox.created_at)).toBe(600_000);
    const longer = { code: 'resource_limit', details: { reason: 'max_ttl', max_ttl: '10m' } };
    await expect(spawn(w, ann, { ttl: '601s' })).rejects.toMatchObject(longer);
    await expect(w.control.sandboxes.extend(id, { ttl: '11m' }, ann)).rejects.toMatchObject(longer);
    expect(await w.control.sandboxes.extend(id, { ttl: '10m' }, ann)).toMatchObject({ id });
    const exec = (timeout: string) => w.control.exec.run(id, { command: 'x', timeout }, ann, forever, roomy);
    await expect(exec('6s')).rejects.toMatchObject({ details: { max_exec_timeout: '5s' } });
    expect(await exec('5s')).toHaveProperty('exit_code');
    // The owner of the sandbox counts, not the one who asks.
    await expect(
      w.control.exec.run(id, { command: 'x', timeout: '6s' }, bob, forever, roomy),
    ).rejects.toMatchObject({ code: 'resource_limit' });
  });

  it('are never exceeded by 100 spawns at once', async () => {
    const w = world({ defaults: { max_sandboxes_per_owner: 3, max_sandboxes: 10 } });
    const owners = Array.from({ length: 100 }, (_, i) => owned(`o${i % 5}`));
    await Promise.allSettled(owners.map((owner) => spawn(w, owner)));
    const rows = await w.store.sandboxes.list({ limit: 1000 });
    expect(rows).toHaveLength(10);
    for (let i = 0; i < 5; i++)
      expect(rows.filter(({ owner_id }) => owner_id === `o${i}`).length).toBeLessThanOrEqual(3);
  });
});

describe('an admission request', () => {
  it('returns the outcome of a spawn without creating one', async () => {
    const w = world({ defaults: { max_sandboxes: 2, max_sandboxes_per_owner: 1 } });
    const ask = (request = {}, caller = ann) => w.control.sandboxes.admission(request, caller);
    expect(await ask()).toEqual({
      ...{ allowed: true, queueable: false, active_sandboxes: 0, max_sandboxes: 2 },
      ...{ active_owner_sandboxes: 0, max_owner_sandboxes: 1, max_ttl: '24h', provider: 'userspace' },
      ...{ selected_worker_id: 'local', eligible_workers: 1, queue_depth: 0, max_spawn_queue: 100 },
    });
    await spawn(w);
    expect(await ask()).toMatchObject({ allowed: false, reason: 'max_sandboxes_per_owner' });
    expect(await ask({ ttl: '25h' })).toMatchObject({ allowed: false, reason: 'max_ttl' });
    await spawn(w, bob);
    expect(await ask()).toMatchObject({ allowed: false, reason: 'max_sandboxes', active_sandboxes: 2 });
    expect(await ask({}, api)).not.toHaveProperty('max_owner_sandboxes');
    expect(await ask({ provider: 'nope', ttl: '25h' })).toMatchObject({
      ...{ allowed: false, reason: 'provider_unknown', provider: 'nope', eligible_workers: 0 },
    });
    expect((await w.store.sandboxes.countActive()).total).toBe(2);
    expect(w.fake.made).toHaveLength(2);
    await expect(ask({ ttl: 'x' })).rejects.toMatchObject({ code: 'bad_request' });
    await expect(ask({ image: 'a b' })).rejects.toMatchObject({ code: 'bad_request' });
  });
});
