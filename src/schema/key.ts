// Named keys (docs/keys.md). The key itself is in the answer that makes it, and nowhere else.
import { type Static, Type } from 'typebox';
import { DESCRIBED, described } from './described.ts';
import { KEY_FORMATS, KEY_SCOPES } from './key-words.ts';
import { Cursor, duration, Owner, PositiveDuration } from './text-rules.ts';

/** Short enough for an actor of the audit: `key:<name>` has at most 64 characters. */
export const KEY_NAME = '^[a-z0-9][a-z0-9._-]{0,47}$';
export const KEY_ID = '^key-[a-z2-7]{12}$';

const format = Type.Optional(
  Type.Enum([...KEY_FORMATS], {
    description: 'Form of the key; svc. e2b is the form that older SDKs of E2B check.',
  }),
);
const ttl = (description: string) => Type.Optional(duration(description, PositiveDuration));

export const KeyCreate = Type.Object(
  {
    name: Type.String({
      pattern: KEY_NAME,
      description:
        'Lower-case letters, digits and . _ -, at most 48, beginning with a letter or digit. Unique among the keys that are not revoked.',
    }),
    owner_id: Type.Optional(
      described(
        Type.String({
          maxLength: 512,
          description: 'The only owner that the key acts for. Without it, the key acts for all owners.',
        }),
        Owner,
      ),
    ),
    scopes: Type.Optional(
      Type.Array(Type.Enum([...KEY_SCOPES]), {
        minItems: 1,
        maxItems: KEY_SCOPES.length,
        uniqueItems: true,
        description:
          'What the key may do; ["use"]. use includes read, admin includes both. A key of one owner cannot have admin.',
      }),
    ),
    ttl: ttl('The key expires after this time. Without it, it does not expire.'),
    format,
  },
  {
    $id: 'KeyCreate',
    additionalProperties: false,
    // A key of one owner cannot have the scope admin.
    [DESCRIBED]: {
      not: {
        required: ['owner_id', 'scopes'],
        properties: { scopes: { contains: { const: 'admin' } } },
      },
    },
  },
);
export type KeyCreate = Static<typeof KeyCreate>;

export const KeyRotate = Type.Object(
  {
    overlap: Type.Optional(
      duration('How long the previous key stays valid; 24h. 0s ends every key before the new one at once.'),
    ),
    ttl: ttl('The new key expires after this time. Without it, the time of expiry stays as it is.'),
    format,
    replace: Type.Optional(
      Type.Boolean({
        description:
          'While a rotation is open, replaces its new key, for example because the answer was lost. The previous key stays valid until its end.',
      }),
    ),
  },
  {
    $id: 'KeyRotate',
    additionalProperties: false,
    // They exclude each other.
    [DESCRIBED]: {
      anyOf: [{ properties: { replace: { const: false } } }, { not: { required: ['overlap'] } }],
    },
  },
);
export type KeyRotate = Static<typeof KeyRotate>;

export const KEY_STATES = ['active', 'expired', 'revoked'] as const;

const stamp = (description?: string) =>
  Type.String({ format: 'date-time', ...(description && { description }) });
const facts = {
  id: Type.String(),
  name: Type.String(),
  prefix: Type.String({ description: 'The first characters of the key.' }),
  owner_id: Type.Optional(Type.String({ description: 'The only owner that the key acts for; absent: all.' })),
  scopes: Type.Array(Type.Enum([...KEY_SCOPES])),
  state: Type.Enum([...KEY_STATES]),
  created_at: stamp(),
  created_by: Type.String({ description: 'The actor, as in the audit.' }),
  expires_at: Type.Optional(stamp()),
  last_used_at: Type.Optional(stamp('Accurate to a minute; absent: never.')),
  rotated_at: Type.Optional(stamp()),
  previous_until: Type.Optional(stamp('While a rotation is open: when the previous key ends.')),
  revoked_at: Type.Optional(stamp()),
  revoked_by: Type.Optional(Type.String()),
};

export const Key = Type.Object(facts, { $id: 'Key', additionalProperties: false });
export type Key = Static<typeof Key>;

export const KeyWithSecret = Type.Object(
  { ...facts, secret: Type.String({ description: 'The key itself. It cannot be shown again.' }) },
  { $id: 'KeyWithSecret', additionalProperties: false },
);
export type KeyWithSecret = Static<typeof KeyWithSecret>;

export const KeyListQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Keys; 100.' })),
    cursor: Type.Optional(described(Type.String({ maxLength: 1024 }), Cursor)),
  },
  { additionalProperties: false },
);
export type KeyListQuery = Static<typeof KeyListQuery>;
