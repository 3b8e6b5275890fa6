// Stored events as readers follow them: first what is kept, then what comes, each once and in the order of ids. The store
// is the only source and the bus only says that there is more: what publishers hand to the bus can come out of order.
import { setImmediate } from 'node:timers/promises';
import { type EventFilter, filterKey, passes } from '../domain/event-filter.ts';
import type { Clock, Logger } from '../domain/ports.ts';
import type { Event } from '../schema/event.ts';
import type { EventBus } from './bus.ts';

const PAGE = 256;
/** Events of one hand-out to live readers. */
const LIVE_PAGE = 512;
/** So many readers make hand-outs expensive, and so many events between two looks are a burst. */
const MANY = 100;
const BURST = 8;
const GATHER_MS = 10;
const GATHERED_MS = 100;
/** Readers served before everything else gets its turn. */
const TURN = 500;
const RETRY_MS = 1000;

export interface EventReader {
  /** Stored events, of each page that was read, none where none is wanted. The next are read when the promise has settled. */
  catchUp(events: readonly Event[]): Promise<void>;
  /** New events, at once. Readers with equal filters are given the very same array. Must not throw. */
  take(events: readonly Event[]): void;
}

export interface Following {
  filter: EventFilter;
  /** Events with greater ids. */
  after: number;
  reader: EventReader;
  /** Ends it. */
  signal: AbortSignal;
}

export interface EventFeedDeps {
  /** `store.events.since` */
  since(after: number, limit: number): Promise<Event[]>;
  bus: EventBus;
  /** Calls `wake` when other processes may have stored events, until the returned function is called. */
  elsewhere?(wake: () => void): () => void;
  clock: Clock;
  logger: Logger;
}

interface Member {
  reader: EventReader;
  /** It has had everything up to here. */
  after: number;
}

interface Group {
  filter: EventFilter;
  members: Set<Member>;
}

export class EventFeed {
  readonly #deps: EventFeedDeps;
  readonly #groups = new Map<string, Group>();
  readonly #unsubscribe: () => void;
  /** Ends the signals of other processes, which come while there are members. */
  #unlisten: (() => void) | undefined;
  #members = 0;
  /** Read up to here. */
  #position = 0;
  /** Handed to all members up to here. */
  #served = 0;
  #pumping = false;
  #again = false;

  constructor(deps: EventFeedDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.bus.subscribe(() => this.#wake());
  }

  /** Nothing new is handed out any more. */
  close(): void {
    this.#unsubscribe();
    this.#unlisten?.();
    this.#groups.clear();
    this.#members = 0;
  }

  /** The id up to which every live reader has been served. */
  get served(): number {
    return this.#served;
  }

  /** Hands out what is stored, up to the id `last`, and resolves then. Rejects when the store cannot be read. */
  async replay(following: Following, last: number): Promise<void> {
    let { after } = following;
    while (after < last && !following.signal.aborted) {
      const page = await this.#deps.since(after, PAGE);
      const wanted = page.filter(({ id }) => id <= last);
      await handOver(following, wanted);
      after = wanted.length < page.length || page.length < PAGE ? last : (page.at(-1) as Event).id;
    }
  }

  /** Hands out what is stored and resolves when `reader` is live: what comes is handed to it until `signal` aborts. */
  async follow(following: Following): Promise<void> {
    let { after } = following;
    while (!following.signal.aborted) {
      const page = await this.#deps.since(after, PAGE);
      after = page.at(-1)?.id ?? after;
      await handOver(following, page);
      // Nothing may wait between this look and the joining: what is handed out in between would be lost.
      if (page.length < PAGE && this.#reached(after)) return this.#join(following, after);
    }
  }

  /** Whether all that was handed out so far is at or before `after`. */
  #reached(after: number): boolean {
    return this.#position <= after || (this.#members === 0 && !this.#pumping);
  }

  #join({ filter, reader, signal }: Following, after: number): void {
    if (signal.aborted) return;
    const key = filterKey(filter);
    const group = this.#groups.get(key) ?? { filter, members: new Set() };
    const member = { reader, after };
    this.#groups.set(key, group);
    group.members.add(member);
    if (this.#members === 0) this.#position = after;
    this.#members += 1;
    this.#unlisten ??= this.#deps.elsewhere?.(() => this.#wake());
    signal.addEventListener('abort', () => this.#leave(key, member), { once: true });
    this.#wake();
  }

  #leave(key: string, member: Member): void {
    const group = this.#groups.get(key);
    if (!group?.members.delete(member)) return;
    this.#members -= 1;
    if (group.members.size === 0) this.#groups.delete(key);
    if (this.#members > 0) return;
    this.#unlisten?.();
    this.#unlisten = undefined;
  }

  #wake(): void {
    this.#again = true;
    if (!this.#pumping && this.#members > 0) void this.#pump();
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    while (this.#again && this.#members > 0) {
      this.#again = false;
      // What is committed in this turn goes out together.
      await setImmediate();
      const page = await this.#gather();
      if (page.length === LIVE_PAGE) this.#again = true;
      this.#position = page.at(-1)?.id ?? this.#position;
      await this.#handOut(page);
      this.#served = this.#position;
    }
    this.#pumping = false;
  }

  /** The next events; of a burst those of up to 100 ms, since each hand-out costs a write for every reader. */
  async #gather(): Promise<Event[]> {
    const page = await this.#read(this.#position, LIVE_PAGE);
    let came = page.length;
    for (let waited = 0; came >= BURST && this.#members >= MANY; waited += GATHER_MS) {
      if (waited >= GATHERED_MS || page.length === LIVE_PAGE) break;
      await this.#deps.clock.sleep(GATHER_MS);
      const more = await this.#read(page.at(-1)?.id ?? this.#position, LIVE_PAGE - page.length);
      came = more.length;
      page.push(...more);
    }
    return page;
  }

  async #read(after: number, limit: number): Promise<Event[]> {
    try {
      return await this.#deps.since(after, limit);
    } catch (error) {
      this.#deps.logger.error({ err: error }, 'Could not read events; retrying.');
      await this.#deps.clock.sleep(RETRY_MS);
      this.#again = true;
      return [];
    }
  }

  async #handOut(page: readonly Event[]): Promise<void> {
    let served = 0;
    for (const { filter, members } of this.#groups.values()) {
      const wanted = page.filter((event) => passes(filter, event));
      for (const member of members) {
        give(member, wanted);
        served += 1;
        if (served % TURN === 0) await setImmediate();
      }
    }
  }
}

/** One that joined while it was ahead of the others has had a part of this. */
function give({ reader, after }: Member, events: readonly Event[]): void {
  const isAhead = events[0] !== undefined && events[0].id <= after;
  const fresh = isAhead ? events.filter(({ id }) => id > after) : events;
  if (fresh.length > 0) reader.take(fresh);
}

function handOver({ filter, reader }: Following, events: readonly Event[]): Promise<void> {
  return reader.catchUp(events.filter((event) => passes(filter, event)));
}
