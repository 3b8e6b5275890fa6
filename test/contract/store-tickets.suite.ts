// The contract of stores that several control planes share: spawns that wait.
import { expect, it } from 'vitest';
import type { Ticket, TicketStore } from '../../src/store/seam/tickets.ts';
import { NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const MOST = 100;
let tickets = 0;

/** A ticket with an id of its own. */
const ticketOf = (owner_id: string, facts: Partial<Ticket> = {}): Ticket => ({
  ...{ id: `sb-ticket${++tickets}`, owner_id, provider: 'userspace', home: 'r-1', spawn: '{"a":"\\u0000"}' },
  ...facts,
});
const claimOf = (key: string, fingerprint = 'f1') => ({ scope: 'owner:ann', key, fingerprint });

export function waiting({ store }: Given): void {
  const queue = () => store().tickets as TicketStore;
  const add = async (owner_id: string, facts: Partial<Ticket> = {}, most = MOST) => {
    const ticket = ticketOf(owner_id, facts);
    const added = await queue().add(ticket, most);
    return { ticket, added };
  };
  /** Ids by turn of their owners, those of one owner by age. */
  const order = async () =>
    (await queue().waiting(0)).sort((a, b) => a.turn - b.turn || a.seq - b.seq).map(({ id }) => id);
  const admit = (ticket: { id: string; home: string }, facts = {}, limits = NO_CAP) =>
    store().sandboxes.reserve({
      ...{ sandbox: sandboxRecord({ id: ticket.id, replica_id: ticket.home, ...facts }), limits, events: [] },
      ticket: { id: ticket.id, home: ticket.home },
    });

  it('lists tickets in the order of their insertion with what decides their turn', async () => {
    const { ticket: a1, added } = await add('ann', { demand: 'd', claim: claimOf('k') });
    const { ticket: b1 } = await add('');
    const { ticket: a2 } = await add('ann', { home: 'r-2' });
    expect(added).toEqual({ kind: 'added', depth: 1 });
    const listed = await queue().waiting(0);
    expect(listed.map(({ id }) => id)).toEqual([a1.id, b1.id, a2.id]);
    const [first, second, third] = listed;
    const facts = { id: a1.id, owner_id: 'ann', provider: 'userspace', demand: 'd', home: 'r-1' };
    expect(first).toEqual({ ...facts, seq: expect.any(Number), turn: expect.any(Number) });
    expect(second).not.toHaveProperty('demand');
    expect(third!.turn).toBe(first!.turn);
    expect(second!.turn).toBeGreaterThan(first!.turn);
    expect(await queue().waiting(first!.seq)).toEqual([second, third]);
    expect(await queue().depth()).toBe(3);
    expect(await queue().get(a1.id)).toEqual(a1);
    expect(await queue().get('sb-none')).toBeUndefined();
    expect((await queue().homes()).sort()).toEqual(['r-1', 'r-2']);
  });

  it('adds a ticket once, also when that is repeated', async () => {
    const { ticket } = await add('ann');
    expect(await queue().add(ticket, MOST)).toEqual({ kind: 'added', depth: 1 });
    expect(await queue().waiting(0)).toHaveLength(1);
  });

  it('refuses more than the limit, unless an owner has more than its share', async () => {
    await add('');
    const { ticket: m1 } = await add('mallory', {}, 3);
    const { ticket: m2 } = await add('mallory', { home: 'r-2' }, 3);
    expect((await add('mallory', {}, 3)).added).toEqual({ kind: 'full' });
    const { ticket: b1, added } = await add('bob', {}, 3);
    // A repetition after a lost answer does not know who lost.
    const { crowded = { id: m2.id, home: 'r-2' } } = added as { crowded?: object };
    expect({ ...added, crowded }).toEqual({ kind: 'added', depth: 3, crowded: { id: m2.id, home: 'r-2' } });
    expect(await queue().get(m2.id)).toMatchObject({ end: { kind: 'crowded_out' } });
    expect((await add('cid', {}, 3)).added).toEqual({ kind: 'full' });
    expect((await queue().waiting(0)).map(({ id }) => id)).toEqual([expect.any(String), m1.id, b1.id]);
    // Tickets without an owner never count as too many.
    for (let n = 0; n < 5; n++) await add('');
    expect((await add('cid', {}, 8)).added).toEqual({ kind: 'full' });
  });

  it('gives an owner a turn behind all others when it returns', async () => {
    const { ticket: a1 } = await add('ann');
    const { ticket: b1 } = await add('bob');
    await queue().remove(a1.id, 'r-1');
    const { ticket: a2 } = await add('ann');
    expect(await order()).toEqual([b1.id, a2.id]);
  });

  it('admits a ticket, ends it, and moves its owner behind all others in one transaction', async () => {
    const { ticket: a1 } = await add('ann');
    const { ticket: a2 } = await add('ann');
    const { ticket: b1 } = await add('bob');
    await queue().lacks('ann', 'owner');
    const made = await admit(a1, { owner_id: 'ann' });
    expect(made).toMatchObject({ kind: 'reserved', turn: expect.any(Number) });
    expect(await order()).toEqual([b1.id, a2.id]);
    const [, b] = await queue().waiting(0);
    expect(made).toHaveProperty('turn', (await queue().waiting(0)).find(({ id }) => id === a2.id)!.turn);
    expect((made as { turn: number }).turn).toBeGreaterThan(b!.turn);
    expect(await queue().get(a1.id)).toMatchObject({ end: { kind: 'admitted', sandbox_id: a1.id } });
    expect(await store().sandboxes.get(a1.id)).toMatchObject({ state: 'creating', replica_id: 'r-1' });
    expect(await queue().mustWait({ owner_id: 'cid', room: 'userspace' })).toBe(true);
    expect(await admit(a1)).toEqual({ kind: 'no_ticket' });
    expect(await admit({ ...b1, home: 'r-2' })).toEqual({ kind: 'no_ticket' });
    expect(await admit({ id: 'sb-none', home: 'r-1' })).toEqual({ kind: 'no_ticket' });
    expect(await queue().depth()).toBe(2);
  });

  it('leaves the ticket of a spawn that is denied, replayed, or finds its prewarmed sandbox gone', async () => {
    const claim = claimOf('k');
    const { ticket } = await add('ann', { claim });
    await admit((await add('bob')).ticket);
    expect(await admit(ticket, {}, { ...NO_CAP, max_sandboxes: 1 })).toMatchObject({ kind: 'denied' });
    const own = { sandbox: sandboxRecord({ id: ticket.id }), limits: NO_CAP, events: [] };
    const given = { ...own, ticket: { id: ticket.id, home: 'r-1' } };
    expect(await store().sandboxes.reserve({ ...given, warm: { response: '{}' } })).toEqual({ kind: 'gone' });
    await store().sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [], claim });
    expect(await store().sandboxes.reserve({ ...given, claim })).toMatchObject({ kind: 'replay' });
    expect(await order()).toEqual([ticket.id]);
  });

  it('admits a ticket once for many rivals', async () => {
    const { ticket } = await add('ann');
    const rivals = Array.from({ length: 8 }, () =>
      store().sandboxes.reserve({
        ...{ sandbox: sandboxRecord({ replica_id: 'r-1' }), limits: NO_CAP, events: [] },
        ticket: { id: ticket.id, home: 'r-1' },
      }),
    );
    const kinds = (await Promise.all(rivals)).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual([...Array(7).fill('no_ticket'), 'reserved']);
    expect((await store().sandboxes.countActive()).total).toBe(1);
  });

  it('removes a waiting ticket of its home, and says how an ended one ended', async () => {
    const [{ ticket: a1 }, { ticket: a2 }] = [await add('ann'), await add('ann')];
    expect(await queue().remove(a1.id, 'r-2')).toBeUndefined();
    expect(await queue().depth()).toBe(2);
    expect(await queue().remove(a1.id, 'r-1')).toBeUndefined();
    expect(await queue().remove(a1.id, 'r-1')).toBeUndefined();
    await admit(a2);
    const end = { kind: 'admitted', sandbox_id: a2.id };
    expect(await queue().remove(a2.id, 'r-1')).toEqual(end);
    expect(await queue().ofHome('r-1')).toEqual([{ id: a2.id, end }]);
    await queue().forget([a2.id]);
    expect(await queue().ofHome('r-1')).toEqual([]);
  });

  it('ends a ticket with a refusal for its home, and forgets only what has ended', async () => {
    const [{ ticket: a1 }, { ticket: a2 }] = [await add('ann'), await add('ann')];
    const end = { kind: 'refused', error: '{"code":"\\u0000"}' } as const;
    await queue().end(a1.id, 'r-2', end);
    expect(await queue().depth()).toBe(2);
    await queue().end(a1.id, 'r-1', end);
    await queue().end(a1.id, 'r-1', { kind: 'crowded_out' });
    expect(await queue().get(a1.id)).toEqual({ ...a1, end });
    expect(await queue().ofHome('r-1')).toEqual(expect.arrayContaining([{ id: a1.id, end }, { id: a2.id }]));
    await queue().forget([a1.id, a2.id]);
    expect(await queue().ofHome('r-1')).toEqual([{ id: a2.id }]);
    expect(await admit(a1)).toEqual({ kind: 'no_ticket' });
  });

  it('lets a repeated request adopt the ticket of its key with its place', async () => {
    const claim = claimOf('k');
    const { ticket: a1 } = await add('ann', { claim });
    const { ticket: a2 } = await add('ann');
    expect((await add('ann', { claim: claimOf('k', 'f2') })).added).toEqual({ kind: 'key_taken' });
    expect((await add('ann', { claim: { ...claim, scope: 'owner:bob' } })).added).toMatchObject({
      kind: 'added',
    });
    expect(await queue().adopt(claimOf('other'), 'r-2')).toBeUndefined();
    expect(await queue().adopt(claimOf('k', 'f2'), 'r-2')).toEqual({ kind: 'other_request' });
    const adopted = { kind: 'adopted', ticket: { ...a1, home: 'r-2' } };
    expect(await queue().adopt(claim, 'r-2')).toEqual(adopted);
    expect(await queue().adopt(claim, 'r-2')).toEqual(adopted);
    expect((await order()).slice(0, 2)).toEqual([a1.id, a2.id]);
    expect(await queue().remove(a1.id, 'r-1')).toBeUndefined();
    expect(await admit(a1)).toEqual({ kind: 'no_ticket' });
    expect(await admit({ ...a1, home: 'r-2' })).toMatchObject({ kind: 'reserved' });
    expect(await queue().adopt(claim, 'r-3')).toBeUndefined();
    // An ended ticket does not keep its key.
    expect((await add('ann', { claim })).added).toMatchObject({ kind: 'added' });
  });

  it('lets a process give up only tickets that are still its own', async () => {
    const claim = claimOf('k');
    const { ticket } = await add('ann', { claim });
    expect(await queue().adopt(claim, 'stopped:r-9', 'r-9')).toBeUndefined();
    const adopted = (home: string) => ({ kind: 'adopted', ticket: { ...ticket, home } });
    expect(await queue().adopt(claim, 'r-2')).toEqual(adopted('r-2'));
    expect(await queue().adopt(claim, 'stopped:r-1', 'r-1')).toBeUndefined();
    expect((await queue().get(ticket.id))?.home).toBe('r-2');
    expect(await queue().adopt(claim, 'stopped:r-2', 'r-2')).toEqual(adopted('stopped:r-2'));
    expect(await queue().adopt(claim, 'stopped:r-2', 'r-2')).toEqual(adopted('stopped:r-2'));
  });

  it('tells which new spawns would overtake a ticket', async () => {
    const waits = (owner_id: string, room = 'userspace') => queue().mustWait({ owner_id, room });
    expect(await waits('ann')).toBe(false);
    await add('ann');
    expect([await waits('ann'), await waits('bob'), await waits('', 'container')]).toEqual([
      true,
      true,
      true,
    ]);
    await queue().lacks('ann', 'owner');
    expect([await waits('ann'), await waits('bob')]).toEqual([true, false]);
    await queue().lacks('ann', { room: 'userspace' });
    expect([await waits('bob'), await waits('bob', 'container')]).toEqual([true, false]);
    await queue().lacks('ann', undefined);
    expect(await waits('bob', 'container')).toBe(true);
    await queue().lacks('ann', 'owner');
    await add('');
    expect([await waits('bob'), await waits('')]).toEqual([true, true]);
  });

  it('sweeps tickets of dead homes: all of lost ones, and those that wait without a key of silent ones', async () => {
    const { ticket: keyed } = await add('ann', { home: 'r-silent', claim: claimOf('k1') });
    await add('ann', { home: 'r-silent' });
    const { ticket: ended } = await add('ann', { home: 'r-silent' });
    await admit(ended);
    await add('bob', { home: 'r-lost', claim: claimOf('k2') });
    await admit((await add('bob', { home: 'r-lost' })).ticket);
    const { ticket: alive } = await add('cid');
    await queue().sweep({ silent: ['r-silent'], lost: ['r-lost'] });
    expect(await order()).toEqual([keyed.id, alive.id]);
    expect(await queue().ofHome('r-lost')).toEqual([]);
    expect((await queue().ofHome('r-silent')).map(({ id }) => id).sort()).toEqual(
      [keyed.id, ended.id].sort(),
    );
    await queue().sweep({ silent: [], lost: ['r-silent'] });
    expect(await order()).toEqual([alive.id]);
    expect((await queue().homes()).sort()).toEqual(['r-1']);
  });

  it('keeps the order of an owner over stamps that go back', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await add('ann', { id: `sb-z${9 - n}${stamp(-n)}` })).ticket.id);
    expect(await order()).toEqual(ids);
  });
}
