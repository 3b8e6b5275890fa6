// THE STORE SEAM: spawns that wait for capacity, where several control planes share a store. store.ts has the rules for all
// tables.
//
// A ticket belongs to its home: the replica that holds the client's request. It ends once: `sandboxes.reserve` admits it, `end`
// refuses it, `add` crowds it out. Its home then reads how it ended, and forgets it. One that is removed leaves nothing.

/** What decides whose turn it is. */
export interface TicketFacts {
  /** The id of the sandbox that it waits for. */
  id: string;
  /** Empty: none. */
  owner_id: string;
  provider: string;
  /** What it demands of its worker (`demandKey`). */
  demand?: string;
  home: string;
}

/** A ticket in the order of waiting. */
export interface WaitingTicket extends TicketFacts {
  /** Higher than that of tickets added before. */
  seq: number;
  /** The turn of its owner: the lowest is next. */
  turn: number;
}

/** The idempotency key of its spawn, as `reserve` claims it. */
export interface TicketKey {
  scope: string;
  key: string;
  fingerprint: string;
}

export interface Ticket extends TicketFacts {
  claim?: TicketKey;
  /** What an attempt needs, as JSON. The store does not read it. */
  spawn: string;
}

export type TicketEnd =
  /** The row of the sandbox names the home as the replica that starts it, unless the sandbox runs already. */
  | { kind: 'admitted'; sandbox_id: string }
  /** `error`: JSON of an error. */
  | { kind: 'refused'; error: string }
  /** The queue was full, and its owner had most of it. */
  | { kind: 'crowded_out' };

export type AddedTicket =
  /** `crowded` lost its ticket to this one. A repetition does not know it. */
  | { kind: 'added'; depth: number; crowded?: { id: string; home: string } }
  | { kind: 'full' }
  /** A ticket with the same key waits. */
  | { kind: 'key_taken' };

export type AdoptedTicket = { kind: 'adopted'; ticket: Ticket } | { kind: 'other_request' };

/** A ticket as its home sees it. */
export interface HomeTicket {
  id: string;
  /** Absent while it waits. */
  end?: TicketEnd;
}

/** Why an owner waits although others do not: its own limit, or a provider and demand (`roomOf`) without capacity. */
export type OwnerLack = 'owner' | { room: string };

export interface TicketStore {
  /**
   * Adds a ticket behind the others of its owner, whose turn is behind all others if it had none. If `most` wait, the owner with
   * the most tickets loses its newest, provided that this owner then has fewer. Replicas that add at the same time may exceed
   * `most`, each by one. A repeat is harmless.
   */
  add(ticket: Ticket, most: number): Promise<AddedTicket>;
  /**
   * Makes `home` the home of the waiting ticket with this key; undefined if there is none, or none of the home `from` if that is
   * given. A repeat is harmless.
   */
  adopt(claim: TicketKey, home: string, from?: string): Promise<AdoptedTicket | undefined>;
  /** Removes a waiting ticket of `home`. Returns how it ended if it had ended; undefined if nothing waits any more. */
  remove(id: string, home: string): Promise<TicketEnd | undefined>;
  /** Ends a waiting ticket. Does nothing if none waits with this id and home. */
  end(id: string, home: string, end: TicketEnd): Promise<void>;
  /** Deletes tickets that have ended. */
  forget(ids: readonly string[]): Promise<void>;
  /** All tickets of this home. */
  ofHome(home: string): Promise<HomeTicket[]>;
  get(id: string): Promise<(Ticket & HomeTicket) | undefined>;
  /** Waiting tickets with a higher `seq`, in its order. A lower one may become visible later. */
  waiting(after: number): Promise<WaitingTicket[]>;
  /** The number of waiting tickets. */
  depth(): Promise<number>;
  /** Whether a new spawn would overtake a ticket: one of its owner, or one that is not known to lack what it would get. */
  mustWait(spawn: { owner_id: string; room: string }): Promise<boolean>;
  /** Records what the next ticket of the owner lacks; undefined: unknown. Admission of one of its tickets clears it. */
  lacks(owner_id: string, lack: OwnerLack | undefined): Promise<void>;
  /** The homes of all tickets. */
  homes(): Promise<string[]>;
  /**
   * Deletes the tickets of `lost` homes, those without a key that wait of `silent` homes, and turns of owners without tickets.
   * Idempotent.
   */
  sweep(homes: { silent: readonly string[]; lost: readonly string[] }): Promise<void>;
}
