// The event stream (specification part 6, api.md part 9).
import { ServiceError } from '../../domain/errors.ts';
import { Event, EventQuery } from '../../schema/event.ts';
import { eventStream } from '../event-stream.ts';
import { defineRoute, type Route } from '../route.ts';

export const eventRoutes: Route[] = [
  defineRoute({
    id: 'events',
    tag: 'events',
    auth: 'api',
    summary: 'Follow events',
    description:
      'Server-sent events: id, event (the kind) and data (this JSON). A comment every 15 s; stream.gap where events asked for are no longer kept; a reader that falls 256 KiB behind is cut off and resumes by its last id.',
    query: EventQuery,
    headers: { 'Last-Event-ID': 'Begin after the event with this id.' },
    success: {
      status: 200,
      description: 'The stream.',
      other: { 'text/event-stream': { schema: Event } },
    },
    errors: ['unavailable'],
    handler: async ({ query, caller, headers }, { events }) => {
      const last = lastEventId(headers['last-event-id']);
      return eventStream(
        await events.subscribe(last === undefined ? query : { ...query, since: last }, caller),
      );
    },
  }),
];

/** A browser that has seen no event yet sends it empty. */
function lastEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined || header === '') return undefined;
  if (typeof header === 'string' && /^\d{1,15}$/.test(header)) return Number(header);
  throw new ServiceError('bad_request', 'Last-Event-ID is not the id of an event.', {
    remedy: 'Send the id of the last event received, or none.',
  });
}
