// Tickets that are in the store although nobody waits for them, and what was admitted for callers who got a failure.
import { expect, it } from 'vitest';
import { LeftTickets } from '../../../../src/control/queue/left-tickets.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';

const ticket = (id: string, claim?: { scope: string; key: string; fingerprint: string }) => ({
  id,
  owner_id: '',
  provider: 'userspace',
  spawn: '{}',
  home: 'r-1',
  ...(claim && { claim }),
});
const admitted = (id: string) => ({ id, end: { kind: 'admitted' as const, sandbox_id: `sb-of-${id}` } });

function left() {
  const { clock } = fakeDeps();
  const unwanted: string[] = [];
  return { clock, unwanted, left: new LeftTickets(clock, (id) => unwanted.push(id)) };
}

it('ends once what was admitted for a caller who got a failure and has no key, and nothing else', () => {
  const { unwanted, left: tickets } = left();
  tickets.unanswered(ticket('a'));
  tickets.unanswered(ticket('b', { scope: 's', key: 'k', fingerprint: 'f' }));
  tickets.unanswered(ticket('c'));
  for (const id of ['a', 'a', 'b', 'given']) tickets.ended(admitted(id));
  tickets.ended({ id: 'c', end: { kind: 'crowded_out' } });
  expect(unwanted).toEqual(['sb-of-a']);
});

it('watches until a reading that began after the last write can have arrived', async () => {
  const { clock, unwanted, left: tickets } = left();
  expect(tickets.mayAppear).toBe(false);
  tickets.unanswered(ticket('a'));
  await clock.advance(14_000);
  tickets.wereRead(clock.monotonic());
  expect(tickets.mayAppear).toBe(true);
  tickets.ended(admitted('a'));
  expect(unwanted).toEqual(['sb-of-a']);
  await clock.advance(1000);
  tickets.wereRead(clock.monotonic() - 1);
  expect(tickets.mayAppear).toBe(true);
  tickets.wereRead(clock.monotonic());
  expect(tickets.mayAppear).toBe(false);
});
