// THE STORE SEAM: events that do not belong to a state change. store.ts has the rules for all tables.
import type { Event, EventDraft } from '../../schema/event.ts';

export interface EventBounds {
  /** Ids of the oldest and newest stored event of any owner; 0 if there are none. */
  oldest: number;
  newest: number;
  /** Events up to this id may be deleted although older ones of other owners are kept; 0 if none are. */
  lost_through: number;
}

export interface EventStore {
  /**
   * One transaction on its own connection with relaxed durability (docs/design/reliability.md#storage). Ids in order. A
   * store of several replicas drops an event about a sandbox whose end is stored: another replica may have buffered it.
   */
  append(drafts: readonly EventDraft[]): Promise<void>;
  /** Events with id > `after`, oldest first. No event with a lower id is committed later. */
  since(after: number, limit: number): Promise<Event[]>;
  /** Bounds of the events of `owner`, or of all events. */
  bounds(owner?: string): Promise<EventBounds>;
  /**
   * Keeps `keep` events in total. Owners above their fair share lose their oldest, so that one owner never displaces
   * another's events. Returns the number deleted.
   */
  prune(keep: number): Promise<number>;
}
