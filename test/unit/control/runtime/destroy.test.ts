// Destroying: from every state, at every moment of a creation, by many at once, against providers that do not let go.
import { describe, expect, it } from 'vitest';
import type { Event } from '../../../../src/schema/event.ts';
import { SANDBOX_STATES } from '../../../../src/schema/sandbox-states.ts';
import { sandboxRecord } from '../../../support/records.ts';
import { api, forever, owned, roomy, type World, world } from '../../../support/servers/control.ts';

const spawn = async (w: World, request = {}, caller = api) =>
  (await w.control.sandboxes.spawn(request, caller, {}, forever)).id;
const count = (events: Event[], type: string, id: string) =>
  events.filter((event) => event.type === type && event.sandbox_id === id).length;
const ended = (w: World, id: string) => w.store.sandboxes.get(id);

describe('destroy', () => {
  it('ends a sandbox, keeps the reason, and succeeds again and for an unknown id', async () => {
    const w = world();
    const id = await spawn(w);
    await w.clock.advance(5000);
    await w.control.sandboxes.destroy(id, api);
    expect(w.fake.runtimes.size).toBe(0);
    const error = await w.control.sandboxes.get(id, api).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'not_found',
      details: { end_reason: 'destroyed', ended_at: new Date(w.clock.now()).toISOString() },
    });
    await w.control.sandboxes.destroy(id, api);
    await w.control.sandboxes.destroy('sb-nobody', api);
    expect(count(await w.events(), 'sandbox.destroyed', id)).toBe(1);
    expect((await w.events()).at(-1)).toMatchObject({
      data: { end_reason: 'destroyed', provider: 'userspace' },
    });
  });

  it('leaves the sandboxes of other owners alone without an error', async () => {
    const w = world({ auth: { enforce_owner: true } });
    const id = await spawn(w, {}, owned('ann'));
    await w.control.sandboxes.destroy(id, owned('bob'));
    expect(await w.control.sandboxes.get(id, owned('ann'))).toMatchObject({ state: 'running' });
    await expect(w.control.sandboxes.destroy(id, api)).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('ends a sandbox once for 100 calls at the same time', async () => {
    const w = world();
    const id = await spawn(w);
    w.provider.decide = (operation) => (operation === 'destroy' ? 'late' : undefined);
    const all = Array.from({ length: 100 }, () => w.control.sandboxes.destroy(id, api));
    await w.clock.advance(0);
    w.provider.release();
    await Promise.all(all);
    expect(w.provider.calls.destroy).toBe(1);
    expect(count(await w.events(), 'sandbox.destroyed', id)).toBe(1);
  });

  it.each(SANDBOX_STATES)('ends a row in state %s after a restart', async (state) => {
    const w = world();
    const over = state === 'destroyed' || state === 'error';
    const row = sandboxRecord({
      state,
      ...(over && { ended_at: '2026-01-02T03:04:05.000Z', end_reason: 'expired' }),
    });
    await w.store.sandboxes.reserve({ sandbox: row, limits: { max_sandboxes: 0 }, events: [] });
    if (!over) w.fake.plant(row.id);
    await w.control.sandboxes.destroy(row.id, api);
    expect(w.fake.runtimes.size).toBe(0);
    expect((await ended(w, row.id))?.state).toBe(over ? state : 'destroyed');
    expect(count(await w.events(), 'sandbox.destroyed', row.id)).toBe(over ? 0 : 1);
  });
});

describe('destroy of a sandbox that is being created', () => {
  it.each(['late', 'hang'] as const)(
    'cancels it (%s), leaves nothing behind, and the spawn reports it',
    async (fault) => {
      const w = world();
      w.provider.decide = (operation) => (operation === 'create' ? fault : undefined);
      const spawned = spawn(w).catch((error: unknown) => error);
      await w.clock.advance(0);
      const [row] = (await w.control.sandboxes.list({}, api)).sandboxes;
      const destroyed = w.control.sandboxes.destroy(row?.id ?? '', api);
      await w.clock.advance(0);
      expect(await w.control.sandboxes.get(row?.id ?? '', api)).toMatchObject({ state: 'destroying' });
      await w.clock.advance(1000);
      await destroyed;
      expect(await spawned).toMatchObject({ code: 'conflict' });
      w.provider.release();
      await w.clock.advance(0);
      expect(w.fake.runtimes.size).toBe(0);
      const events = (await w.events()).map(({ type }) => type);
      expect(events).toEqual(['sandbox.created', 'sandbox.destroyed']);
    },
  );

  it('finds the runtime of a create that answers in the last second', async () => {
    const w = world();
    w.provider.decide = (operation) => (operation === 'create' ? 'late' : undefined);
    const spawned = spawn(w).catch((error: unknown) => error);
    await w.clock.advance(0);
    const [row] = (await w.control.sandboxes.list({}, api)).sandboxes;
    const destroyed = w.control.sandboxes.destroy(row?.id ?? '', api);
    await w.clock.advance(300);
    w.provider.release();
    await w.clock.advance(0);
    await destroyed;
    expect(await spawned).toMatchObject({ code: 'conflict' });
    expect(w.fake.made).toHaveLength(1);
    expect(w.fake.runtimes.size).toBe(0);
  });

  it('at every step gives one end, no leftovers, and at least one answer', async () => {
    for (let step = 0; step < 40; step++) {
      const w = world();
      const spawned = spawn(w).then(
        () => 'made',
        (error: { code: string }) => error.code,
      );
      for (let i = 0; i < step; i++) await undefined;
      const [row] = await w.store.sandboxes.list({ limit: 1 });
      if (row) await w.control.sandboxes.destroy(row.id, api);
      expect(['made', 'conflict']).toContain(await spawned);
      if (!row) continue;
      expect(w.fake.runtimes.size).toBe(0);
      expect(count(await w.events(), 'sandbox.destroyed', row.id)).toBe(1);
      expect((await w.events()).at(-1)?.type).toBe('sandbox.destroyed');
    }
  });
});

describe('a runtime whose end cannot be confirmed', () => {
  it.each(['fail', 'hang', 'lost'] as const)(
    '%s: is reported, stays destroying, and is retried until it is gone',
    async (fault) => {
      const w = world({ defaults: { max_sandboxes: 1 } });
      const id = await spawn(w);
      w.provider.decide = (operation, call) => (operation === 'destroy' && call <= 3 ? fault : undefined);
      const first = w.control.sandboxes.destroy(id, api).catch((error: unknown) => error);
      await w.clock.advance(0);
      await w.clock.advance(61_000);
      expect(['unavailable', 'provider_error']).toContain(((await first) as { code: string }).code);
      if (fault === 'hang')
        expect(await w.control.sandboxes.get(id, api)).toMatchObject({ state: 'destroying' });
      await expect(w.control.exec.run(id, { command: 'x' }, api, forever, roomy)).rejects.toMatchObject({
        code: fault === 'hang' ? 'conflict' : 'not_found',
      });
      await w.clock.advance(300_000);
      expect(w.fake.runtimes.size).toBe(0);
      expect(await ended(w, id)).toMatchObject({ state: 'destroyed', end_reason: 'destroyed' });
      expect(count(await w.events(), 'sandbox.destroyed', id)).toBe(1);
      expect(count(await w.events(), 'provider.failed', id)).toBe(1);
      await spawn(w);
    },
  );

  it('counts towards the limit meanwhile', async () => {
    const w = world({ defaults: { max_sandboxes: 1 } });
    const id = await spawn(w);
    w.provider.decide = (operation) => (operation === 'destroy' ? 'fail' : undefined);
    await expect(w.control.sandboxes.destroy(id, api)).rejects.toMatchObject({ code: 'provider_error' });
    await expect(spawn(w)).rejects.toMatchObject({ code: 'resource_limit' });
  });

  it('is committed again when the last commit fails', async () => {
    const w = world();
    const id = await spawn(w);
    const transition = w.store.sandboxes.transition;
    let failures = 1;
    w.store.sandboxes.transition = (change) =>
      change.patch.state === 'destroyed' && failures-- > 0
        ? Promise.reject(new Error('busy'))
        : transition(change);
    await w.restart();
    await expect(w.control.sandboxes.destroy(id, api)).rejects.toMatchObject({ code: 'internal' });
    await w.clock.advance(1000);
    expect(await ended(w, id)).toMatchObject({ state: 'destroyed' });
  });
});

describe('calls in flight', () => {
  it('end with the sandbox, and their events come before its last event', async () => {
    const w = world();
    const id = await spawn(w);
    w.fake.of(id).programs.set('forever', () => new Promise(() => {}));
    const run = w.control.exec
      .run(id, { command: 'forever' }, api, forever, roomy)
      .catch((error: unknown) => error);
    await w.clock.advance(0);
    await w.control.sandboxes.destroy(id, api);
    expect(await run).toMatchObject({ code: 'not_found', details: { end_reason: 'destroyed' } });
    const types = (await w.events()).map(({ type }) => type);
    expect(types.slice(-3)).toEqual(['exec.started', 'exec.failed', 'sandbox.destroyed']);
  });
});
