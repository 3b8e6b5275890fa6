// Events of the memory store.
import { hasEnded } from '../../../src/domain/sandbox-state.ts';
import type { Event, EventDraft } from '../../../src/schema/event.ts';
import type { EventStore } from '../../../src/store/seam/events.ts';
import { addEvents, copy, overShare, type Tables } from './tables.ts';

const holderOf = ({ owner_id = '' }: Event) => owner_id;

export function memoryEvents(tables: Tables, isShared: boolean): EventStore {
  const { event_gaps: gaps } = tables;
  return {
    append: async (drafts) => {
      // Of several control planes one may have buffered something about a sandbox that another has ended.
      const isLate = ({ sandbox_id = '' }: EventDraft) => isShared && isEnded(tables, sandbox_id);
      addEvents(
        tables,
        drafts.filter((draft) => !isLate(draft)),
      );
    },
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

function isEnded({ sandboxes }: Tables, id: string): boolean {
  const row = sandboxes.get(id);
  return row !== undefined && hasEnded(row.state);
}
