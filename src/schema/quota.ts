// Owner quotas: limits of one owner that replace the defaults (docs/design/api.md#owner-quotas). 0 and `0s` inherit the
// default everywhere except in a usage, which shows effective limits: there they mean unlimited.
import { type Static, Type } from 'typebox';
import { described } from './described.ts';
import { EgressCeiling } from './egress.ts';
import { Cursor, duration, OwnerCursor } from './text-rules.ts';

const count = (description: string) => Type.Integer({ minimum: 0, maximum: 1_000_000, description });

export const QuotaRequest = Type.Object(
  {
    max_sandboxes: Type.Optional(count('Maximum number of active sandboxes; 0 inherits the default.')),
    max_ttl: Type.Optional(duration('Maximum lifetime of a sandbox; 0s inherits the default.')),
    max_exec_timeout: Type.Optional(duration('Maximum timeout of an exec; 0s inherits the default.')),
    egress: Type.Optional(EgressCeiling),
  },
  { $id: 'QuotaRequest', additionalProperties: false },
);
export type QuotaRequest = Static<typeof QuotaRequest>;

export const Quota = Type.Object(
  {
    owner_id: Type.String(),
    max_sandboxes: Type.Integer(),
    max_ttl: Type.String(),
    max_exec_timeout: Type.String(),
    egress: Type.Optional(EgressCeiling),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'Quota', additionalProperties: false },
);
export type Quota = Static<typeof Quota>;

export const QuotaUsage = Type.Object(
  {
    owner_id: Type.String(),
    active_sandboxes: Type.Integer({ description: 'Sandboxes that have not ended.' }),
    max_sandboxes: Type.Integer({ description: 'Effective limit; 0 means unlimited.' }),
    max_ttl: Type.String({ description: 'Effective limit; 0s means unlimited.' }),
    max_exec_timeout: Type.String({ description: 'Effective limit; 0s means unlimited.' }),
    quota_configured: Type.Boolean({ description: 'Whether the owner has its own quota.' }),
  },
  { $id: 'QuotaUsage', additionalProperties: false },
);
export type QuotaUsage = Static<typeof QuotaUsage>;

const limits = {
  max_sandboxes: Type.Integer({ description: '0 means unlimited.' }),
  max_ttl: Type.String({ description: '0s means unlimited.' }),
  max_exec_timeout: Type.String({ description: '0s means unlimited.' }),
};

export const QuotaCheck = Type.Object(
  {
    owner_id: Type.String(),
    active_sandboxes: Type.Integer({ description: 'Sandboxes that have not ended.' }),
    before: Type.Object(limits, { additionalProperties: false, description: 'Limits in force now.' }),
    after: Type.Object(limits, {
      additionalProperties: false,
      description: 'Limits in force after the change.',
    }),
    over: Type.Integer({
      description:
        'Sandboxes above the new limit. They continue to run; new ones are refused until as many have ended.',
    }),
    free: Type.Optional(
      Type.Integer({ description: 'Sandboxes that the owner could still start; absent: unlimited.' }),
    ),
    longer: Type.Integer({
      description:
        'Sandboxes whose time ends later than the new longest lifetime from now. They keep their time and cannot be extended.',
    }),
  },
  { $id: 'QuotaCheck', additionalProperties: false },
);
export type QuotaCheck = Static<typeof QuotaCheck>;

export const OwnerListQuery = Type.Object(
  {
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Only owners whose name has this text; upper and lower case of ASCII are the same.',
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    cursor: Type.Optional(described(Type.String({ maxLength: 1024 }), OwnerCursor)),
  },
  { additionalProperties: false },
);
export type OwnerListQuery = Static<typeof OwnerListQuery>;

export const QuotaSummary = Type.Object(
  {
    total: Type.Integer({ description: 'Owners with a quota.' }),
    with_max_sandboxes: Type.Integer(),
    with_max_ttl: Type.Integer(),
    with_max_exec_timeout: Type.Integer(),
  },
  { $id: 'QuotaSummary', additionalProperties: false },
);
export type QuotaSummary = Static<typeof QuotaSummary>;

export const QuotaListQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    cursor: Type.Optional(described(Type.String({ maxLength: 1024 }), Cursor)),
  },
  { additionalProperties: false },
);
export type QuotaListQuery = Static<typeof QuotaListQuery>;

export const QuotaDeleted = Type.Object(
  { status: Type.Literal('deleted') },
  { $id: 'QuotaDeleted', additionalProperties: false },
);
