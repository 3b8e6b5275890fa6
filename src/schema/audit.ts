// The audit of admin calls (docs/design/api.md#audit).
import { type Static, Type } from 'typebox';
import { described } from './described.ts';
import { Moment, NumberedCursor } from './text-rules.ts';

export const AuditRecord = Type.Object(
  {
    id: Type.Integer({ description: 'Rises with time.' }),
    actor: Type.String({
      description:
        'The key used and its header, such as admin:X-Admin-API-Key; anonymous; none for a refused key.',
    }),
    user_id: Type.Optional(Type.String({ description: 'X-User-ID, as given.' })),
    method: Type.String(),
    path: Type.String({ description: 'Without the query.' }),
    status: Type.Integer({ description: 'Of the answer; 499 when the client went before it.' }),
    duration_ms: Type.Number(),
    request_id: Type.String(),
    remote_addr: Type.String(),
    user_agent: Type.Optional(Type.String()),
    created_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'AuditRecord', additionalProperties: false },
);
export type AuditRecord = Static<typeof AuditRecord>;
/** A record before it is stored. */
export type AuditDraft = Omit<AuditRecord, 'id'>;

const filter = (description: string, maxLength: number, rules: object = {}) =>
  Type.Optional(described(Type.String({ minLength: 1, maxLength, description }), rules));

export const AuditQuery = Type.Object(
  {
    actor: filter('Exactly this actor.', 64),
    method: filter('Exactly this method, in any case.', 16),
    status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599, description: 'Exactly this status.' })),
    path: filter('Paths that hold this text.', 1024),
    since: filter('From this moment on, ISO 8601.', 40, Moment),
    until: filter('Before this moment, ISO 8601.', 40, Moment),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Records; 100.' })),
    cursor: filter('X-Next-Cursor of the page before.', 256, NumberedCursor),
    format: Type.Optional(Type.Enum(['json', 'csv'], { description: 'json, or csv with a line of names.' })),
  },
  { additionalProperties: false },
);
export type AuditQuery = Static<typeof AuditQuery>;
