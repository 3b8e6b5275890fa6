// From the flags of `svc events` to the events themselves.
import type { Event, EventQuery } from '../schema/event.ts';
import { type ConnectionFlags, connect } from './connection.ts';

export interface EventFlags extends ConnectionFlags {
  type?: string | undefined;
  sandbox?: string | undefined;
  owner?: string | undefined;
  since?: number | undefined;
  follow: boolean;
}

export function followEvents(flags: EventFlags): AsyncIterable<Event> {
  const { type, sandbox: sandbox_id, owner: owner_id, since, follow } = flags;
  const query: EventQuery = {
    ...(type !== undefined && { type }),
    ...(sandbox_id !== undefined && { sandbox_id }),
    ...(owner_id !== undefined && { owner_id }),
    ...(since !== undefined && { since }),
    ...(!follow && { follow }),
  };
  return connect(flags).events(query);
}
