// Event kinds and shape (docs/design/api.md#events).
import { type Static, Type } from 'typebox';
import { actorField, actorFilter } from './actor.ts';
import { described } from './described.ts';

export const EVENT_TYPES = [
  'sandbox.created',
  'sandbox.running',
  'sandbox.destroyed',
  'sandbox.error',
  'sandbox.oom',
  'sandbox.extended',
  'sandbox.unhealthy',
  'sandbox.recovered',
  'exec.started',
  'exec.completed',
  'exec.failed',
  'exec.timeout',
  'file.written',
  'file.read',
  'operation.failed',
  'resource.limit',
  'provider.failed',
  'reconcile.action',
  'spawn.queued',
  'spawn.dequeued',
  'spawn.queue_timeout',
  'quota.saved',
  'quota.deleted',
  'image.pulled',
  'image.failed',
  'image.imported',
  'image.removed',
  'egress.denied',
  'egress.allowed',
  'egress.limited',
  'egress.credential_used',
  'egress.changed',
  'usage.day',
  'template.created',
  'template.updated',
  'template.deleted',
  'worker.online',
  'worker.offline',
  'worker.draining',
  'worker.drained',
  'worker.removed',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Kinds, or groups with `.*`, separated by commas. */
const KINDS = [...EVENT_TYPES, ...new Set(EVENT_TYPES.map((type) => `${type.split('.', 1)}.*`))].map((name) =>
  name.replaceAll(/[.*]/g, '\\$&'),
);
const KIND_LIST = `^ *(?:${KINDS.join('|')}) *(?:, *(?:${KINDS.join('|')}) *)*$`;

/** Never stored: tells one reader that events it asked for are no longer kept. */
export const GAP_TYPE = 'stream.gap';

export const Event = Type.Object(
  {
    id: Type.Integer({ description: 'Increases with every event, also across restarts.' }),
    type: Type.Enum([...EVENT_TYPES, GAP_TYPE]),
    timestamp: Type.String({ format: 'date-time' }),
    sandbox_id: Type.Optional(Type.String()),
    owner_id: Type.Optional(Type.String()),
    actor: actorField('Who acted'),
    data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { $id: 'Event', additionalProperties: false },
);
export type Event = Static<typeof Event>;

export const EventQuery = Type.Object(
  {
    type: Type.Optional(
      described(
        Type.String({
          maxLength: 1024,
          description: 'Only these types, separated by commas; `sandbox.*` selects a group.',
        }),
        { pattern: KIND_LIST },
      ),
    ),
    sandbox_id: Type.Optional(Type.String({ maxLength: 128, description: 'Only events of this sandbox.' })),
    owner_id: Type.Optional(Type.String({ maxLength: 512, description: 'Only events of this owner.' })),
    actor: actorFilter('Only events of this actor.'),
    since: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 999_999_999_999_999,
        description:
          'Start after the event with this id; 0 starts at the oldest stored event. Last-Event-ID takes precedence.',
      }),
    ),
    follow: Type.Optional(
      Type.Boolean({
        description: 'false: end after the stored events, starting with the oldest unless since is given.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type EventQuery = Static<typeof EventQuery>;

/** An event before the store has given it its id. */
export type EventDraft = Omit<Event, 'id' | 'type'> & { type: EventType };
