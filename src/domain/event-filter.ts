// Which events a reader wants: the query of GET /events as a rule that is applied to each of them.

import { EVENT_TYPES, type Event, type EventQuery, type EventType } from '../schema/event.ts';
import { ServiceError } from './errors.ts';
import { trimmedOwner } from './owner.ts';

export interface EventFilter {
  /** Absent: all kinds. */
  types?: readonly EventType[];
  sandbox_id?: string;
  owner_id?: string;
  actor?: string;
}

/** Throws `bad_request` for a kind that does not exist. */
export function eventFilter({ type, sandbox_id, owner_id, actor }: EventQuery): EventFilter {
  return {
    ...(type !== undefined && { types: typesOf(type) }),
    ...(sandbox_id !== undefined && { sandbox_id }),
    ...(owner_id !== undefined && { owner_id: trimmedOwner(owner_id) }),
    ...(actor !== undefined && { actor }),
  };
}

/** The same for filters that let the same events through by the same rule. */
export function filterKey({ types, sandbox_id, owner_id, actor }: EventFilter): string {
  return JSON.stringify([types ?? null, sandbox_id ?? null, owner_id ?? null, actor ?? null]);
}

export function passes({ types, sandbox_id, owner_id, actor }: EventFilter, event: Event): boolean {
  if (types && !types.some((type) => type === event.type)) return false;
  if (sandbox_id !== undefined && event.sandbox_id !== sandbox_id) return false;
  if (actor !== undefined && event.actor !== actor) return false;
  return owner_id === undefined || event.owner_id === owner_id;
}

/** In the order of the table, so that equal wishes are equal filters. */
function typesOf(text: string): EventType[] {
  const wanted = text.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !EVENT_TYPES.some((type) => names(name, type)));
  if (unknown !== undefined)
    throw new ServiceError('bad_request', `Unknown event type ${JSON.stringify(unknown.slice(0, 64))}.`, {
      remedy: `Use ${EVENT_TYPES.join(', ')}.`,
    });
  return EVENT_TYPES.filter((type) => wanted.some((name) => names(name, type)));
}

const names = (name: string, type: EventType): boolean =>
  name === type || (name.endsWith('.*') && type.startsWith(name.slice(0, -1)));
