// Who may follow which events, where a reader begins, and how many there may be.
import { expect, it } from 'vitest';
import type { Caller } from '../../../../src/control/api/caller.ts';
import type { Event, EventQuery } from '../../../../src/schema/event.ts';
import { admin, api, owned, world } from '../../../support/servers/control.ts';
import { until } from '../../../support/until.ts';

async function stored(made: ReturnType<typeof world>, query: EventQuery, caller: Caller): Promise<Event[]> {
  const events: Event[] = [];
  const subscription = await made.control.events.subscribe({ follow: false, ...query }, caller);
  if (subscription.gap) events.push(subscription.gap);
  const take = (more: readonly Event[]) => void events.push(...more);
  expect(await subscription.run({ take, catchUp: async (more) => take(more) })).toBe('over');
  subscription.end();
  return events;
}

async function spawned(owner: string, made: ReturnType<typeof world>) {
  await made.control.sandboxes.spawn({}, owned(owner), {}, new AbortController().signal);
}

it('delivers events as they happen', async () => {
  const made = world();
  const heard: Event[] = [];
  const take = (more: readonly Event[]) => void heard.push(...more);
  const subscription = await made.control.events.subscribe({}, api);
  expect(await subscription.run({ take, catchUp: async (more) => take(more) })).toBe('live');
  await spawned('ann', made);
  await until('both came', () => heard.length === 2);
  expect(heard.map(({ type, owner_id }) => [type, owner_id])).toEqual([
    ['sandbox.created', 'ann'],
    ['sandbox.running', 'ann'],
  ]);
  expect(heard[1]!.data).toMatchObject({ provider: 'userspace', worker_id: 'local' });
  expect(subscription.position()).toBe(heard[1]!.id);
  subscription.end();
});

it('shows owners only their own events where owners are enforced', async () => {
  const made = world({ auth: { enforce_owner: true } });
  await spawned('ann', made);
  await spawned('bob', made);
  const owners = async (query: EventQuery, caller: Caller) =>
    new Set((await stored(made, query, caller)).map(({ owner_id }) => owner_id));
  expect(await owners({}, owned('ann'))).toEqual(new Set(['ann']));
  expect(await owners({ owner_id: 'ann' }, owned('ann'))).toEqual(new Set(['ann']));
  expect(await owners({ owner_id: 'bob' }, owned('ann'))).toEqual(new Set());
  expect(await owners({}, admin)).toEqual(new Set(['ann', 'bob']));
  expect(await owners({ owner_id: 'bob' }, admin)).toEqual(new Set(['bob']));
  await expect(made.control.events.subscribe({}, api)).rejects.toMatchObject({ code: 'bad_request' });
});

it('announces pruned events once', async () => {
  const made = world();
  await spawned('ann', made);
  await spawned('ann', made);
  const all = await made.events();
  expect(await stored(made, { since: 0 }, api)).toEqual(all);
  await made.store.events.prune(2);
  const rest = await stored(made, { since: 1 }, api);
  expect(rest).toEqual([
    { id: 2, type: 'stream.gap', timestamp: expect.any(String), data: { message: expect.any(String) } },
    ...all.slice(2),
  ]);
  expect(await stored(made, { since: rest[0]!.id }, api)).toEqual(all.slice(2));
  // Who asked for no beginning misses nothing.
  expect(await stored(made, {}, api)).toEqual(all.slice(2));
});

it('keeps the events of owners with few, and announces the gap only to the owner with many', async () => {
  const made = world({ auth: { enforce_owner: true } });
  await spawned('ann', made);
  for (let n = 0; n < 50; n++) await spawned('mallory', made);
  const all = await made.events();
  await made.store.events.prune(12);
  const anns = all.filter(({ owner_id }) => owner_id === 'ann');
  expect(await stored(made, { since: 0 }, owned('ann'))).toEqual(anns);
  const gap = expect.objectContaining({ type: 'stream.gap', id: 2 });
  expect(await stored(made, { since: 2 }, owned('mallory'))).toEqual([gap, ...all.slice(-10)]);
  expect(await stored(made, { since: 2 }, admin)).toEqual([gap, ...all.slice(-10)]);
  const newest = all.at(-10)?.id ?? 0;
  expect(await stored(made, { since: newest }, admin)).toEqual(all.slice(-9));
});

it('treats an id that was never issued as a gap', async () => {
  const made = world();
  await spawned('ann', made);
  const subscription = await made.control.events.subscribe({ since: 99 }, api);
  expect(subscription).toMatchObject({ after: 2, gap: { id: 2, type: 'stream.gap' } });
});

it('bounds readers, in all and for each owner, and counts freed slots', async () => {
  const made = world({ auth: { enforce_owner: true } });
  const open = (caller: Caller) => made.control.events.subscribe({}, caller);
  const held = await Promise.all(Array.from({ length: 100 }, () => open(owned('ann'))));
  await expect(open(owned('ann'))).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 10_000 });
  await expect(open(owned('bob'))).resolves.toBeDefined();
  held[0]!.end();
  held[0]!.end();
  await expect(open(owned('ann'))).resolves.toBeDefined();
  await expect(open(owned('ann'))).rejects.toMatchObject({ code: 'unavailable' });
  await Promise.all(Array.from({ length: 4899 }, () => open(admin)));
  await expect(open(admin)).rejects.toMatchObject({ code: 'unavailable' });
});
