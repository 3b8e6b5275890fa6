// Sessions of the console (docs/console.md#login). The token is in the answer that opens a session, and nowhere else.
import { type Static, Type } from 'typebox';
import { actorField } from './actor.ts';
import { described } from './described.ts';
import { KEY_SCOPES } from './key-words.ts';
import { Owner } from './text-rules.ts';

/** `code-`: good once, for a login or a download. */
export const SESSION_ID = '^(?:ses|code)-[a-z2-7]{12}$';
/** Every token begins with it, which tells it from a key. */
export const SESSION_PREFIX = 'svcs_';
/** Every code that is good once begins with it. */
export const CODE_PREFIX = 'svcc_';

const stamp = (description: string) => Type.String({ format: 'date-time', description });

export const SessionCreate = Type.Object(
  {
    owner_id: Type.Optional(
      described(
        Type.String({
          maxLength: 512,
          description:
            'The only owner that the session acts for. Required where owners are enforced and the key is not an administrator’s. A session of one owner does not administer.',
        }),
        Owner,
      ),
    ),
  },
  { $id: 'SessionCreate', additionalProperties: false },
);
export type SessionCreate = Static<typeof SessionCreate>;

const facts = {
  id: Type.String(),
  actor: Type.String({ description: 'The actor of the key that opened the session, as in the audit.' }),
  owner_id: Type.Optional(
    Type.String({ description: 'The only owner that the session acts for; absent: all.' }),
  ),
  scopes: Type.Array(Type.Enum([...KEY_SCOPES])),
  created_at: stamp('When the session was opened.'),
  expires_at: stamp('When the session ends unless it is renewed.'),
  ends_at: stamp('When the session ends in any case.'),
};

export const Session = Type.Object(facts, { $id: 'Session', additionalProperties: false });
export type Session = Static<typeof Session>;

export const SessionWithToken = Type.Object(
  {
    ...facts,
    token: Type.String({
      description: 'Sent as X-API-Key in place of a key. It cannot be shown again.',
    }),
  },
  { $id: 'SessionWithToken', additionalProperties: false },
);
export type SessionWithToken = Static<typeof SessionWithToken>;

export const LoginCode = Type.Object(
  {
    code: Type.String({ description: 'Good once. It cannot be shown again.' }),
    expires_at: stamp('When the code ends.'),
  },
  { $id: 'LoginCode', additionalProperties: false },
);
export type LoginCode = Static<typeof LoginCode>;

export const LoginExchange = Type.Object(
  { code: Type.String({ minLength: 1, maxLength: 256, description: 'As it was given.' }) },
  { $id: 'LoginExchange', additionalProperties: false },
);
export type LoginExchange = Static<typeof LoginExchange>;

export const Identity = Type.Object(
  {
    actor: actorField('Who calls'),
    owner_id: Type.Optional(
      Type.String({ description: 'The owner that the call acts for; absent: none was named.' }),
    ),
    bound: Type.Boolean({ description: 'Whether the credential acts for this owner only.' }),
    administers: Type.Boolean({ description: 'Whether admin routes are open to the caller.' }),
    enforce_owner: Type.Boolean({
      description: 'Whether callers that are not administrators must name an owner.',
    }),
    authentication: Type.Boolean({ description: 'Whether the server asks for keys.' }),
    session: Type.Optional(Session),
    label: Type.String({ description: 'The name of this installation, from console.label.' }),
    label_colour: Type.String({ description: 'Colour of the label, from console.label_colour.' }),
    version: Type.String({ description: 'The version of the server.' }),
  },
  { $id: 'Identity', additionalProperties: false },
);
export type Identity = Static<typeof Identity>;

export const SessionList = Type.Array(Session);
