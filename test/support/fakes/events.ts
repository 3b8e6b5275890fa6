// Events of the fake control plane: the real feed over a memory store, with the test as the publisher.
import type { Caller } from '../../../src/control/api/caller.ts';
import type { EventViews } from '../../../src/control/api/events.ts';
import { eventViews } from '../../../src/control/system/events.ts';
import { eventBus } from '../../../src/events/bus.ts';
import { EventFeed } from '../../../src/events/feed.ts';
import type { Event, EventDraft } from '../../../src/schema/event.ts';
import { memoryStore } from '../memory-store/store.ts';
import { appended } from '../records.ts';
import { fakeDeps } from './ports.ts';

export interface FakeEvents extends EventViews {
  /** Stores and tells. */
  publish(drafts: EventDraft[]): Promise<Event[]>;
  prune(keep: number): Promise<number>;
  /** Readers there are now. */
  readers(): number;
}

export function fakeEvents(note: (method: string, caller: Caller, ...args: unknown[]) => void): FakeEvents {
  const deps = fakeDeps();
  const { events } = memoryStore(deps);
  const bus = eventBus(deps);
  const feed = new EventFeed({ ...deps, bus, since: events.since });
  const views = eventViews({ ...deps, events, feed, settings: { enforce_owner: false } });
  return {
    readers: views.readers,
    prune: events.prune,
    publish: async (drafts) => {
      const stored = await appended(events, drafts);
      bus.publish(drafts);
      return stored;
    },
    subscribe: async (query, caller) => {
      note('events.subscribe', caller, query);
      return views.subscribe(query, caller);
    },
  };
}
