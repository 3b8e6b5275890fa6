// The sandbox object, the spawn request and the list query (docs/design/api.md#sandboxes).
import { type Static, Type } from 'typebox';
import { actorField } from './actor.ts';
import { WORKER_ID } from './config-kinds.ts';
import { DESCRIBED, described } from './described.ts';
import { EgressPolicy, EgressSummary, POLICY_WITHOUT_NETWORK } from './egress.ts';
import { PULL_POLICIES } from './image-policy.ts';
import { SANDBOX_STATES } from './sandbox-states.ts';
import { Cursor, duration, EnvValue, Image, Owner, PositiveDuration } from './text-rules.ts';
import { workerLabels } from './worker-labels.ts';

export const END_REASONS = [
  'destroyed',
  'expired',
  'spawn_failed',
  'runtime_lost',
  'worker_lost',
  'pruned',
  'reconciled',
] as const;
export type EndReason = (typeof END_REASONS)[number];

/** What is kept of differences between what was asked and what runs, in characters each. */
export const MOST_WARNINGS = 16;
export const LONGEST_WARNING = 512;

// The key's bound is a pattern: a record's key schema keeps nothing else, and what no pattern takes would pass unchecked.
export const Metadata = Type.Record(
  Type.String({ pattern: '^[\\s\\S]{0,64}$' }),
  Type.String({ maxLength: 1024 }),
  {
    additionalProperties: false,
    maxProperties: 64,
    description: 'Labels stored with the sandbox: at most 64, keys to 64 characters, values to 1024.',
  },
);

export const Env = Type.Record(
  Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,255}$' }),
  described(Type.String({ maxLength: 131000 }), EnvValue),
  {
    additionalProperties: false,
    maxProperties: 256,
    description: 'Environment variables: names of letters, digits and _, to 256 characters.',
  },
);

/** In a spawn and in a template. */
export const Pull = Type.Enum([...PULL_POLICIES], {
  description:
    'Whether to pull the image: never, missing or always; at most what images.pull allows. Default: images.pull, but an image that is also defaults.image is not pulled.',
});

/** In a spawn and in a template. */
const placement = {
  worker_id: Type.Optional(
    Type.String({
      pattern: WORKER_ID,
      description: 'The only worker that may run it; local is the server itself.',
    }),
  ),
  worker_labels: Type.Optional(workerLabels('Only workers with all of these labels may run it.')),
};

const life = (description: string) =>
  duration(`${description} A duration such as 90s, 30m or 1h30m.`, PositiveDuration);

export const SpawnRequest = Type.Object(
  {
    image: Type.Optional(
      described(Type.String({ minLength: 1, maxLength: 512, description: 'Runtime image to start.' }), Image),
    ),
    provider: Type.Optional(
      Type.String({ maxLength: 64, description: 'Provider kind; the server default when omitted.' }),
    ),
    memory_mb: Type.Optional(
      Type.Integer({ minimum: 16, maximum: 1048576, description: 'Memory limit in megabytes.' }),
    ),
    vcpus: Type.Optional(Type.Integer({ minimum: 1, maximum: 256, description: 'Virtual processors.' })),
    ttl: Type.Optional(life('Lifetime from now; the sandbox is destroyed at its end.')),
    metadata: Type.Optional(Metadata),
    owner_id: Type.Optional(
      described(
        Type.String({
          maxLength: 512,
          description: 'The owner to charge; the X-User-ID header takes precedence.',
        }),
        Owner,
      ),
    ),
    env: Type.Optional(Env),
    network: Type.Optional(
      Type.Enum(['default', 'none'], { description: 'none disconnects the sandbox from all networks.' }),
    ),
    template: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'Template for the values that are omitted here; cannot be combined with image.',
      }),
    ),
    egress: Type.Optional(EgressPolicy),
    ...placement,
    pull: Type.Optional(Pull),
    strict: Type.Optional(
      Type.Boolean({
        description:
          'Reject the spawn if the sandbox would differ from the request, instead of reporting the differences in warnings.',
      }),
    ),
  },
  {
    $id: 'SpawnRequest',
    additionalProperties: false,
    [DESCRIBED]: { not: { anyOf: [{ required: ['image', 'template'] }, POLICY_WITHOUT_NETWORK] } },
  },
);
export type SpawnRequest = Static<typeof SpawnRequest>;

export const Sandbox = Type.Object(
  {
    id: Type.String({ description: 'Opaque id that starts with sb-.' }),
    state: Type.Enum([...SANDBOX_STATES]),
    provider: Type.String(),
    image: Type.String(),
    memory_mb: Type.Integer(),
    vcpus: Type.Integer(),
    created_at: Type.String({ format: 'date-time' }),
    expires_at: Type.String({ format: 'date-time' }),
    metadata: Type.Record(Type.String({ pattern: '^[\\s\\S]*$' }), Type.String()),
    worker_id: Type.String({ description: 'The worker that runs it, or local.' }),
    image_digest: Type.Optional(
      Type.String({
        description: 'Digest of the image of the image store that runs; absent for other roots.',
      }),
    ),
    owner_id: Type.Optional(Type.String()),
    template: Type.Optional(Type.String({ description: 'The template it was spawned from.' })),
    runtime_id: Type.Optional(
      Type.String({ description: "The provider's id of the sandbox; only shown to admin keys." }),
    ),
    preview_domain: Type.Optional(
      Type.String({ description: 'Domain of its port previews: <port>-<id>.<preview_domain>.' }),
    ),
    egress: Type.Optional(EgressSummary),
    ended_at: Type.Optional(Type.String({ format: 'date-time' })),
    end_reason: Type.Optional(Type.Enum([...END_REASONS])),
    created_by: actorField('Who spawned it'),
    ended_by: actorField('Who ended it'),
    warnings: Type.Optional(
      Type.Array(Type.String({ maxLength: LONGEST_WARNING }), {
        maxItems: MOST_WARNINGS,
        description: 'Differences between the request and the running sandbox; absent if there are none.',
      }),
    ),
  },
  { $id: 'Sandbox', additionalProperties: false },
);
export type Sandbox = Static<typeof Sandbox>;

export const SandboxListQuery = Type.Object(
  {
    state: Type.Optional(Type.Enum([...SANDBOX_STATES])),
    owner_id: Type.Optional(Type.String({ maxLength: 512 })),
    provider: Type.Optional(Type.String({ maxLength: 64 })),
    worker_id: Type.Optional(Type.String({ maxLength: 128 })),
    template: Type.Optional(Type.String({ maxLength: 64 })),
    ids: Type.Optional(
      Type.String({
        maxLength: 8192,
        description: 'Only these sandboxes, at most 100, separated by commas.',
      }),
    ),
    q: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          'Only sandboxes with this text in their id, owner or template; A to Z and a to z are the same.',
      }),
    ),
    include_ended: Type.Optional(Type.Boolean()),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    cursor: Type.Optional(described(Type.String({ maxLength: 512 }), Cursor)),
  },
  {
    additionalProperties: Type.String({ maxLength: 1024 }),
    propertyNames: {
      pattern:
        '^(state|owner_id|provider|worker_id|template|ids|q|include_ended|limit|cursor|metadata\\.[\\s\\S]{0,64})$',
    },
    description: 'Also metadata.<key>=<value>.',
  },
);
export type SandboxListQuery = Static<typeof SandboxListQuery>;

export const ExtendRequest = Type.Object(
  {
    ttl: life('New lifetime from now.'),
    exact: Type.Optional(
      Type.Boolean({
        description: 'Set the end to now + ttl even when that is earlier. Default: never end earlier.',
      }),
    ),
  },
  { $id: 'ExtendRequest', additionalProperties: false },
);
export type ExtendRequest = Static<typeof ExtendRequest>;

export const PruneResult = Type.Object(
  { pruned: Type.Integer() },
  { $id: 'PruneResult', additionalProperties: false },
);
export type PruneResult = Static<typeof PruneResult>;

export const DestroyResult = Type.Object(
  {
    status: Type.Literal('destroyed'),
    was_there: Type.Boolean({
      description: 'False if there was nothing to destroy because the sandbox had ended or never existed.',
    }),
  },
  { $id: 'DestroyResult', additionalProperties: false },
);
export type DestroyResult = Static<typeof DestroyResult>;
