// The event stream (docs/design/api.md#events).
import { Type } from 'typebox';
import { ServiceError } from '../../domain/errors.ts';
import { Event, EventQuery } from '../../schema/event.ts';
import { eventStream } from '../event-stream.ts';
import { defineRoute, type Route } from '../route.ts';

const EVENT_ID_PATTERN = '^[0-9]{0,15}$';
const EVENT_ID = new RegExp(EVENT_ID_PATTERN);
const LastEventId = Type.String({
  pattern: EVENT_ID_PATTERN,
  description: 'Begin after the event with this id; an empty one is none.',
});

/** One message of the stream. */
const Message = Type.Object({
  id: Type.Optional(Type.String({ description: 'Of the event; the first message may be an id alone.' })),
  event: Type.Optional(Type.String({ description: 'The kind.' })),
  data: Type.Optional(
    Type.String({ contentMediaType: 'application/json', contentSchema: Event, description: 'The event.' }),
  ),
});

export const eventRoutes: Route[] = [
  defineRoute({
    id: 'events',
    tag: 'events',
    auth: 'api',
    summary: 'Follow events',
    description:
      'Server-sent events: id, event (the kind) and data (this JSON). A comment every 15 s; stream.gap where events asked for are no longer kept; a reader that falls 256 KiB behind is cut off and resumes by its last id.',
    query: EventQuery,
    headers: { 'Last-Event-ID': LastEventId },
    success: {
      status: 200,
      description: 'The stream.',
      other: { 'text/event-stream': { schema: Message } },
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
  if (typeof header === 'string' && EVENT_ID.test(header)) return Number(header);
  throw new ServiceError('bad_request', 'Last-Event-ID is not the id of an event.', {
    remedy: 'Send the id of the last event received, or none.',
  });
}
