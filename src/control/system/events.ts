// GET /events: which events a caller may read, where a reader starts, and how many readers there may be
// (docs/design/api.md#events). The feed supplies the events.
import { visibleOwner } from '../../domain/access.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type EventFilter, eventFilter } from '../../domain/event-filter.ts';
import type { Clock } from '../../domain/ports.ts';
import type { EventFeed } from '../../events/feed.ts';
import { type Event, type EventQuery, GAP_TYPE } from '../../schema/event.ts';
import type { EventBounds, EventStore } from '../../store/seam/events.ts';
import type { Caller } from '../api/caller.ts';
import type { EventSubscription, EventViews } from '../api/events.ts';

const MOST_READERS = 5000;
/** The most readers of one owner, under owner enforcement: one owner must not use all slots. */
const MOST_OF_AN_OWNER = 100;
const EVERYBODY = '';

export interface EventViewDeps {
  events: Pick<EventStore, 'bounds'>;
  feed: EventFeed;
  settings: { enforce_owner: boolean };
  clock: Clock;
}

export interface EventService extends EventViews {
  /** The current number of readers. */
  readers(): number;
}

export function eventViews(deps: EventViewDeps): EventService {
  const slots = new ReaderSlots();
  return {
    readers: () => slots.taken(EVERYBODY),
    subscribe: async (query, caller) => {
      const filter = filterFor(deps, query, caller);
      const releaseSlot = slots.take(visibleOwner(deps.settings, caller));
      try {
        const bounds = await deps.events.bounds(filter.owner_id);
        const reading = { filter, ...beginning(query, bounds), last: bounds.newest, releaseSlot };
        return subscription(deps, reading, query.follow !== false);
      } catch (error) {
        releaseSlot();
        throw error;
      }
    },
  };
}

/** Under owner enforcement only events of the caller, whatever `owner_id` asks for. */
function filterFor(deps: EventViewDeps, query: EventQuery, caller: Caller): EventFilter {
  const filter = eventFilter(query);
  const owner = visibleOwner(deps.settings, caller);
  if (owner === undefined) return filter;
  const others = filter.owner_id !== undefined && filter.owner_id !== owner;
  return { ...filter, owner_id: owner, ...(others && { types: [] }) };
}

/**
 * `lost`: events between `since` and `after` are not kept. An id beyond the newest is from another database or was lost
 * in a power failure: the events after it are unknown.
 */
function beginning({ since, follow }: EventQuery, bounds: EventBounds): { after: number; lost: boolean } {
  const { oldest, newest, lost_through } = bounds;
  const after = since ?? (follow === false ? 0 : newest);
  if (after > newest) return { after: newest, lost: true };
  if (oldest > after + 1) return { after: oldest - 1, lost: since !== undefined };
  return { after, lost: since !== undefined && after < lost_through };
}

interface Reading extends ReturnType<typeof beginning> {
  filter: EventFilter;
  last: number;
  releaseSlot(): void;
}

function subscription({ feed, clock }: EventViewDeps, reading: Reading, follow: boolean): EventSubscription {
  const { filter, after, lost, last, releaseSlot } = reading;
  const ended = new AbortController();
  return {
    after,
    ...(lost && { gap: gapBefore(after, clock) }),
    run: async (reader) => {
      const following = { filter, after, reader, signal: ended.signal };
      await (follow ? feed.follow(following) : feed.replay(following, last));
      return follow ? 'live' : 'over';
    },
    position: () => Math.max(after, feed.served),
    end: () => {
      if (ended.signal.aborted) return;
      ended.abort();
      releaseSlot();
    },
  };
}

/** It has the id of the last lost event, so that resuming after it does not report the gap again. */
function gapBefore(id: number, clock: Clock): Event {
  const data = { message: 'Events up to this id are no longer kept.' };
  return { id, type: GAP_TYPE, timestamp: new Date(clock.now()).toISOString(), data };
}

/** Counts readers, in total and by owner. */
class ReaderSlots {
  readonly #taken = new Map<string, number>();

  taken(who: string): number {
    return this.#taken.get(who) ?? 0;
  }

  /** Takes a slot and returns the function that releases it. Throws `unavailable` when none is free. */
  take(owner: string | undefined): () => void {
    const full = this.taken(EVERYBODY) >= MOST_READERS;
    if (full || (owner !== undefined && this.taken(owner) >= MOST_OF_AN_OWNER))
      throw new ServiceError('unavailable', 'Too many readers follow events.', {
        remedy: 'Close some streams, or try again later.',
        retryAfterMs: 10_000,
      });
    const counted = owner === undefined ? [EVERYBODY] : [EVERYBODY, owner];
    for (const who of counted) this.#add(who, 1);
    return () => {
      for (const who of counted) this.#add(who, -1);
    };
  }

  #add(who: string, change: number): void {
    const count = this.taken(who) + change;
    if (count === 0) this.#taken.delete(who);
    else this.#taken.set(who, count);
  }
}
