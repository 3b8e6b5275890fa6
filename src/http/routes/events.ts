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
  description: 'Start after the event with this id. An empty value counts as absent.',
});

/** One message of the stream. */
const Message = Type.Object({
  id: Type.Optional(
    Type.String({ description: 'Id of the event. The first message may contain only an id.' }),
  ),
  event: Type.Optional(Type.String({ description: 'The event type.' })),
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
      'Server-sent events with id, event (the event type) and data (the event as JSON). The server sends a comment every 15 s. A stream.gap event marks events that are no longer stored. The server disconnects a reader that falls 256 KiB behind; the reader can resume with its last id.',
    query: EventQuery,
    headers: { 'Last-Event-ID': LastEventId },
    success: {
      status: 200,
      description: 'The event stream.',
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
    remedy: 'Send the id of the last event received, or omit the header.',
  });
}
