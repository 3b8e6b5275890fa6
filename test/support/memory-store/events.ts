// Events of the memory store.
import type { Event } from '../../../src/schema/event.ts';
import type { EventStore } from '../../../src/store/seam/events.ts';
import { addEvents, copy, overShare, type Tables } from './tables.ts';

const holderOf = ({ owner_id = '' }: Event) => owner_id;

export function memoryEvents(tables: Tables): EventStore {
  const { event_gaps: gaps } = tables;
  return {
    append: async (drafts) => void addEvents(tables, drafts),
    since: async (after, limit) => copy(tables.events.filter((event) => event.id > after).slice(0, limit)),
    bounds: async (owner) => ({
      oldest: tables.events[0]?.id ?? 0,
      newest: tables.events.at(-1)?.id ?? 0,
      lost_through: Math.max(0, ...(owner === undefined ? gaps.values() : [gaps.get(owner) ?? 0])),
    }),
    prune: async (keep) => {
      const unwanted = overShare(tables.events, holderOf, keep);
      for (const event of unwanted)
        gaps.set(holderOf(event), Math.max(event.id, gaps.get(holderOf(event)) ?? 0));
      tables.events = tables.events.filter((event) => !unwanted.has(event));
      const oldest = tables.events[0]?.id ?? Number.POSITIVE_INFINITY;
      for (const [owner, through] of gaps) if (through < oldest) gaps.delete(owner);
      return unwanted.size;
    },
  };
}
