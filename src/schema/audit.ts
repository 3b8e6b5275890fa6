// The audit of changes and admin calls (docs/design/api.md#audit).
import { type Static, Type } from 'typebox';
import { LONGEST_ACTOR } from './actor.ts';
import { described } from './described.ts';
import { Cursor, Moment } from './text-rules.ts';

/** In characters. */
const LONGEST_TARGET = 512;

export const AuditRecord = Type.Object(
  {
    id: Type.Integer({ description: 'Increases with time.' }),
    actor: Type.String({
      description:
        'Who called: key:<name>, admin:X-Admin-API-Key, api:X-API-Key, worker:<id>, system:<cause>, anonymous, or none for a refused key.',
    }),
    user_id: Type.Optional(Type.String({ description: 'X-User-ID, as given.' })),
    method: Type.String(),
    path: Type.String({ description: 'The path without its query.' }),
    status: Type.Integer({ description: 'Status of the response; 499 if the client disconnected first.' }),
    duration_ms: Type.Number(),
    request_id: Type.String(),
    remote_addr: Type.String(),
    user_agent: Type.Optional(Type.String()),
    created_at: Type.String({ format: 'date-time' }),
    target: Type.Optional(
      Type.String({
        maxLength: LONGEST_TARGET,
        description:
          'What the call was about: the id of the sandbox (also of a new one), or the name of the template, key, owner or worker.',
      }),
    ),
  },
  { $id: 'AuditRecord', additionalProperties: false },
);
export type AuditRecord = Static<typeof AuditRecord>;
/** A record before it is stored. */
export interface AuditDraft extends Omit<AuditRecord, 'id'> {
  /** A change of a sandbox: only the newest of these are kept. */
  frequent?: boolean;
}

const filter = (description: string, maxLength: number, rules: object = {}) =>
  Type.Optional(described(Type.String({ minLength: 1, maxLength, description }), rules));

export const AuditQuery = Type.Object(
  {
    actor: filter('Only records of this actor.', LONGEST_ACTOR),
    target: filter('Only records about this sandbox, template, key, owner or worker.', LONGEST_TARGET),
    method: filter('Only this method; case does not matter.', 16),
    status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599, description: 'Only this status.' })),
    path: filter('Only paths that contain this text.', 1024),
    since: filter('Only records from this time on, ISO 8601.', 40, Moment),
    until: filter('Only records before this time, ISO 8601.', 40, Moment),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Records; 100.' })),
    cursor: filter('X-Next-Cursor of the previous page.', 256, Cursor),
    format: Type.Optional(Type.Enum(['json', 'csv'], { description: 'json, or csv with a header line.' })),
  },
  { additionalProperties: false },
);
export type AuditQuery = Static<typeof AuditQuery>;
