// Spawns that wait, as maps: the reference for what the seam means.
import type { OwnerLack, Ticket, TicketEnd, TicketStore } from '../../../src/store/seam/tickets.ts';
import type { ReserveOrder } from '../../../src/store/store.ts';
import { copy } from './tables.ts';

type Stored = Ticket & { seq: number; end?: TicketEnd };

export interface MemoryTickets {
  store: TicketStore;
  /** Whether the ticket still waits at this home. */
  waits(ticket: NonNullable<ReserveOrder['ticket']>): boolean;
  /** Ends it, and gives its owner a new turn, which is returned. */
  admitted(id: string, sandbox_id: string): number;
}

export function memoryTickets(): MemoryTickets {
  const tickets = new Map<string, Stored>();
  const owners = new Map<string, { turn: number; lack?: OwnerLack | undefined }>();
  let numbers = 0;
  const waiting = () => [...tickets.values()].filter(({ end }) => end === undefined);
  const ofOwner = (owner_id: string) => waiting().filter((ticket) => ticket.owner_id === owner_id);
  const waitsAt = (id: string, home: string) => {
    const ticket = tickets.get(id);
    return ticket?.home === home && ticket.end === undefined ? ticket : undefined;
  };
  const plain = ({ seq: _, end: _end, ...ticket }: Stored): Ticket => copy(ticket);
  /** The newest ticket of the owner with the most, if `owner` had fewer with one more. */
  const crowder = (owner: string) => {
    const names = [...new Set(waiting().map(({ owner_id }) => owner_id))].filter((name) => name !== '');
    const [most] = names.sort((a, b) => ofOwner(b).length - ofOwner(a).length);
    if (most === undefined || ofOwner(most).length <= ofOwner(owner).length + 1) return undefined;
    return ofOwner(most).at(-1);
  };
  const store: TicketStore = {
    add: async (ticket, most) => {
      const { claim } = ticket;
      if (tickets.has(ticket.id)) return { kind: 'added', depth: waiting().length };
      if (claim && waiting().some((other) => isSame(other, claim))) return { kind: 'key_taken' };
      const crowded = waiting().length >= most ? crowder(ticket.owner_id) : undefined;
      if (waiting().length >= most && !crowded) return { kind: 'full' };
      if (crowded) crowded.end = { kind: 'crowded_out' };
      const seq = ++numbers;
      if (ofOwner(ticket.owner_id).length === 0) owners.set(ticket.owner_id, { turn: seq });
      tickets.set(ticket.id, { ...copy(ticket), seq });
      const depth = waiting().length;
      if (!crowded) return { kind: 'added', depth };
      return { kind: 'added', depth, crowded: { id: crowded.id, home: crowded.home } };
    },
    adopt: async (claim, home, from) => {
      const ticket = waiting().find((other) => isSame(other, claim));
      if (!ticket || (from !== undefined && ![from, home].includes(ticket.home))) return undefined;
      if (ticket.claim?.fingerprint !== claim.fingerprint) return { kind: 'other_request' };
      ticket.home = home;
      return { kind: 'adopted', ticket: plain(ticket) };
    },
    remove: async (id, home) => {
      if (waitsAt(id, home)) tickets.delete(id);
      const ticket = tickets.get(id);
      return ticket?.home === home ? copy(ticket.end) : undefined;
    },
    end: async (id, home, end) => {
      const ticket = waitsAt(id, home);
      if (ticket) ticket.end = copy(end);
    },
    forget: async (ids) => {
      for (const id of ids) if (tickets.get(id)?.end) tickets.delete(id);
    },
    ofHome: async (home) =>
      copy(
        [...tickets.values()]
          .filter((ticket) => ticket.home === home)
          .map(({ id, end }) => ({ id, ...(end && { end }) })),
      ),
    get: async (id) => {
      const ticket = tickets.get(id);
      return ticket && { ...plain(ticket), ...(ticket.end && { end: copy(ticket.end) }) };
    },
    waiting: async (after) =>
      waiting()
        .filter(({ seq }) => seq > after)
        .map(({ id, owner_id, provider, demand, home, seq }) => ({
          ...{ id, owner_id, provider, home, seq, turn: owners.get(owner_id)?.turn ?? seq },
          ...(demand !== undefined && { demand }),
        })),
    depth: async () => waiting().length,
    mustWait: async ({ owner_id, room }) =>
      waiting().some((ticket) => {
        const lack = owners.get(ticket.owner_id)?.lack;
        const isElsewhere = lack !== undefined && (lack === 'owner' || lack.room !== room);
        return ticket.owner_id === owner_id || !isElsewhere;
      }),
    lacks: async (owner_id, lack) => {
      const owner = owners.get(owner_id);
      if (owner) owner.lack = copy(lack);
    },
    homes: async () => [...new Set([...tickets.values()].map(({ home }) => home))],
    sweep: async ({ silent, lost }) => {
      for (const { id, home, claim, end } of [...tickets.values()])
        if (lost.includes(home) || (silent.includes(home) && !claim && !end)) tickets.delete(id);
      for (const owner of owners.keys()) if (ofOwner(owner).length === 0) owners.delete(owner);
    },
  };
  return {
    store,
    waits: ({ id, home }) => waitsAt(id, home) !== undefined,
    admitted: (id, sandbox_id) => {
      const ticket = tickets.get(id) as Stored;
      ticket.end = { kind: 'admitted', sandbox_id };
      const turn = ++numbers;
      owners.set(ticket.owner_id, { turn });
      return turn;
    },
  };
}

const isSame = ({ claim }: Ticket, { scope, key }: { scope: string; key: string }) =>
  claim?.scope === scope && claim.key === key;
