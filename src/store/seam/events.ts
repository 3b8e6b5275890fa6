// THE STORE SEAM: events beside those that a change of state brings along. store.ts says what holds for all.
import type { Event, EventDraft } from '../../schema/event.ts';

export interface EventStore {
  /** One transaction on a connection of its own with relaxed durability (quality.md, rule 9). Ids in order. */
  append(drafts: EventDraft[]): Promise<Event[]>;
  /** Events with id > `after`, oldest first. */
  since(after: number, limit: number): Promise<Event[]>;
  /** Ids of the oldest and the newest event kept; 0 when there is none. */
  bounds(): Promise<{ oldest: number; newest: number }>;
  /** Keeps the newest `keep`; the number deleted. */
  prune(keep: number): Promise<number>;
}
