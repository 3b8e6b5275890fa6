// Credentials that the server adds to requests of sandboxes: their values never enter a sandbox (docs/network.md).
import { type Static, Type } from 'typebox';
import { DESCRIBED, described } from './described.ts';
import { CredentialFormat, CredentialHost } from './text-rules.ts';

/** A label of a host name: the plain endpoint is `<name>.svc.internal`. */
export const CREDENTIAL_NAME = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';
/** Shown instead of a value. */
export const MASKED_VALUE = '***';

export const CREDENTIAL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const name = Type.String({
  pattern: CREDENTIAL_NAME,
  description: 'Lower-case letters, digits and -, at most 63.',
});

const facts = {
  hosts: Type.Array(described(Type.String({ minLength: 1, maxLength: 300 }), CredentialHost), {
    minItems: 1,
    maxItems: 32,
    description:
      'Names that get the credential, as name, *.name or name:port; port 443 if omitted. The first is a name; the plain endpoint leads to it.',
  }),
  header: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9-]{1,64}$',
      description: 'The header that is set; authorization if omitted.',
    }),
  ),
  format: Type.Optional(
    described(
      Type.String({
        maxLength: 200,
        pattern: '^[ -~]*$',
        description: 'The text of the header with {value} in it, such as Bearer {value}; {value} if omitted.',
      }),
      CredentialFormat,
    ),
  ),
  basic_user: Type.Optional(
    Type.String({
      pattern: '^[!-9;-~]{1,128}$',
      description: 'Sends the value as the password of this user in HTTP Basic authentication.',
    }),
  ),
  methods: Type.Optional(
    Type.Array(Type.Enum([...CREDENTIAL_METHODS]), {
      minItems: 1,
      maxItems: CREDENTIAL_METHODS.length,
      description: 'Methods that may use it; all if omitted.',
    }),
  ),
  path_prefixes: Type.Optional(
    Type.Array(Type.String({ pattern: '^/[!-$&-.0-[\\]-~/]{0,255}$' }), {
      minItems: 1,
      maxItems: 32,
      description: 'Paths that may use it, each with the paths below; all if omitted.',
    }),
  ),
  env: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
      description:
        'A variable that commands get with a placeholder, for clients that do not start without a key.',
    }),
  ),
  allow_http: Type.Optional(
    Type.Boolean({
      description: 'Also set the header on plain HTTP requests to the hosts; false if omitted.',
    }),
  ),
};

const value = described(
  Type.String({
    minLength: 1,
    maxLength: 16_384,
    pattern: '^[ -~]*$',
    description: `The secret. Responses show it as ${MASKED_VALUE}, which is not accepted here.`,
  }),
  { not: { const: MASKED_VALUE } },
);

const rules = {
  additionalProperties: false,
  [DESCRIBED]: { not: { required: ['format', 'basic_user'] } },
};

/** A credential that a spawn or a template brings. */
export const InlineCredential = Type.Object({ name, ...facts, value }, { $id: 'InlineCredential', ...rules });
export type InlineCredential = Static<typeof InlineCredential>;

/** Names of credentials of the server, and credentials that the policy brings. */
export const PolicyCredentials = Type.Optional(
  Type.Array(Type.Union([name, InlineCredential]), {
    maxItems: 32,
    description:
      'Names of credentials of this server, or credentials with their values. The server sets their header on requests to their hosts; the rules must allow the hosts.',
  }),
);
export type PolicyCredential = string | InlineCredential;

const owners = Type.Optional(
  Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    maxItems: 1000,
    description: 'Owners whose sandboxes may use it; ["*"]: all sandboxes. Nobody if omitted.',
  }),
);

export const CredentialPut = Type.Object({ ...facts, owners, value }, { $id: 'CredentialPut', ...rules });
export type CredentialPut = Static<typeof CredentialPut>;

export const Credential = Type.Object(
  {
    name,
    ...facts,
    owners,
    value: Type.Literal(MASKED_VALUE),
    source: Type.Enum(['stored', 'configuration'], {
      description:
        'stored: set by a call, and sealed in the database. configuration: of egress.credentials; calls cannot change it.',
    }),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
    usable: Type.Boolean({
      description:
        'False when this server cannot read the value: it was sealed with another key. Set it again.',
    }),
  },
  { $id: 'Credential', additionalProperties: false },
);
export type Credential = Static<typeof Credential>;

export const CredentialDeleted = Type.Object(
  { status: Type.Literal('deleted') },
  { $id: 'CredentialDeleted', additionalProperties: false },
);

/** What is stored of one, apart from its sealed value. */
export const CredentialFacts = Type.Object({ ...facts, owners }, rules);
export type CredentialFacts = Static<typeof CredentialFacts>;
