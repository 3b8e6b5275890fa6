// What the control plane offers to readers of events.
import type { EventReader } from '../../events/feed.ts';
import type { Event, EventQuery } from '../../schema/event.ts';
import type { Caller } from './caller.ts';

export interface EventViews {
  /**
   * Takes a place among the readers, to be given back with `end()`. `since` of the query: events after that id, else
   * those to come. Throws `bad_request` for an unknown kind, `unavailable` when too many read.
   */
  subscribe(query: EventQuery, caller: Caller): Promise<EventSubscription>;
}

export interface EventSubscription {
  /** Events have ids greater than this. */
  after: number;
  /** What was asked for is in part no longer kept: to be told first. */
  gap?: Event;
  /**
   * Hands out what is stored, then what comes. Resolves with `live` when only that is left, with `over` when no more
   * was asked for. To be called once; rejects when the store cannot be read.
   */
  run(reader: EventReader): Promise<'live' | 'over'>;
  /** The id up to which a live reader has been served, whether or not the events were for it. */
  position(): number;
  /** Nothing more is handed out. Idempotent. */
  end(): void;
}
