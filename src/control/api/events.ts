// The events of the control plane, as readers follow them.
import type { EventReader } from '../../events/feed.ts';
import type { Event, EventQuery } from '../../schema/event.ts';
import type { Caller } from './caller.ts';

export interface EventViews {
  /**
   * Registers a reader, until `end()`. With `since` in the query: events after that id, else future events. Throws
   * `bad_request` for an unknown kind, `unavailable` when there are too many readers.
   */
  subscribe(query: EventQuery, caller: Caller): Promise<EventSubscription>;
}

export interface EventSubscription {
  /** Events have ids greater than this. */
  after: number;
  /** Some of the requested events are no longer kept; send this event first. */
  gap?: Event;
  /**
   * Delivers stored events, then new ones. Resolves with `live` when only new ones remain, with `over` when the query
   * does not follow. Call it once; rejects when the store cannot be read.
   */
  run(reader: EventReader): Promise<'live' | 'over'>;
  /** The id up to which a live reader has been served, whether or not the events were for it. */
  position(): number;
  /** Delivers nothing more. Idempotent. */
  end(): void;
}
