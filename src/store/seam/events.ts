// THE STORE SEAM: events beside those that a change of state brings along. store.ts says what holds for all.
import type { Event, EventDraft } from '../../schema/event.ts';

export interface EventBounds {
  /** Ids of the oldest and the newest event kept, of whomever; 0 when there is none. */
  oldest: number;
  newest: number;
  /** Up to here events have gone although older ones of others are kept; 0: none. */
  lost_through: number;
}

export interface EventStore {
  /**
   * One transaction on a connection of its own with relaxed durability (docs/design/reliability.md#storage). Ids
   * in order.
   */
  append(drafts: EventDraft[]): Promise<Event[]>;
  /** Events with id > `after`, oldest first. */
  since(after: number, limit: number): Promise<Event[]>;
  /** Of the events of `owner`, or of all. */
  bounds(owner?: string): Promise<EventBounds>;
  /**
   * Keeps `keep` in all: whoever has more than a fair share loses its oldest, so that events of one owner push out no
   * other's. The number deleted.
   */
  prune(keep: number): Promise<number>;
}
