// Event kinds and shape (specification part 6, api.md part 9).
import { type Static, Type } from 'typebox';

export const EVENT_TYPES = [
  'sandbox.created',
  'sandbox.running',
  'sandbox.destroyed',
  'sandbox.error',
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
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

export const Event = Type.Object(
  {
    id: Type.Integer({ description: 'Rises with every event and over restarts.' }),
    type: Type.Enum([...EVENT_TYPES]),
    timestamp: Type.String({ format: 'date-time' }),
    sandbox_id: Type.Optional(Type.String()),
    owner_id: Type.Optional(Type.String()),
    data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { $id: 'Event', additionalProperties: false },
);
export type Event = Static<typeof Event>;

/** An event before the store has given it its id. */
export type EventDraft = Omit<Event, 'id'>;
