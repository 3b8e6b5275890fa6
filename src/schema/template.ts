// Templates (docs/design/api.md#templates): named sources of sandboxes. `env` values are masked in responses.
import { type Static, Type } from 'typebox';
import { DESCRIBED, described } from './described.ts';
import { EgressPolicy, POLICY_WITHOUT_NETWORK } from './egress.ts';
import { PULL_POLICIES } from './image-policy.ts';
import { Env, Metadata, SpawnRequest } from './sandbox.ts';
import { CommandLine, Cursor, Image } from './text-rules.ts';

const { image: _image, template: _template, ...overrides } = SpawnRequest.properties;
const { provider, memory_mb, vcpus, ttl, network, egress, worker_id, worker_labels, pull } = overrides;

export const TEMPLATE_NAME = '^[a-z0-9][a-z0-9._-]{0,62}$';

const name = Type.String({
  pattern: TEMPLATE_NAME,
  description: 'Lower-case letters, digits and . _ -, at most 63, beginning with a letter or digit.',
});

const facts = {
  description: Type.Optional(Type.String({ maxLength: 1024, description: 'For people.' })),
  image: described(
    Type.String({ minLength: 1, maxLength: 512, description: 'Runtime image to start.' }),
    Image,
  ),
  provider,
  memory_mb,
  vcpus,
  ttl,
  network,
  egress,
  worker_id,
  worker_labels,
  pull,
  metadata: Type.Optional(Metadata),
  env: Type.Optional(Env),
  setup: Type.Optional(
    Type.Array(described(Type.String({ minLength: 1, maxLength: 65_536 }), CommandLine), {
      maxItems: 64,
      description:
        'Shell commands that run in this order before the sandbox is running, together within defaults.max_exec_timeout. If one fails, the spawn fails.',
    }),
  ),
  prewarm: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1000,
      description: 'How many prewarmed sandboxes to keep; 0 means none.',
    }),
  ),
};

const rules = { additionalProperties: false, [DESCRIBED]: { not: POLICY_WITHOUT_NETWORK } };

export const TemplateCreate = Type.Object({ name, ...facts }, { $id: 'TemplateCreate', ...rules });
export type TemplateCreate = Static<typeof TemplateCreate>;

export const TemplateUpdate = Type.Object(
  { name: Type.Optional(name), ...facts },
  { $id: 'TemplateUpdate', ...rules },
);
export type TemplateUpdate = Static<typeof TemplateUpdate>;

const texts = (description: string) =>
  Type.Optional(Type.Record(Type.String({ pattern: '^[\\s\\S]*$' }), Type.String(), { description }));

export const Template = Type.Object(
  {
    name: Type.String(),
    owner_id: Type.Optional(
      Type.String({
        description:
          'The owner of the template; if absent, all owners share it and only administrators can change it.',
      }),
    ),
    description: Type.Optional(Type.String()),
    version: Type.Integer({ description: 'Starts at 1 and increases by 1 with each update.' }),
    image: Type.String(),
    provider: Type.Optional(
      Type.String({ description: "If absent, the server's default at the time of the spawn." }),
    ),
    memory_mb: Type.Integer(),
    vcpus: Type.Integer(),
    ttl: Type.String(),
    network: Type.Optional(Type.Enum(['default', 'none'])),
    egress: Type.Optional(EgressPolicy),
    pull: Type.Optional(
      Type.Enum([...PULL_POLICIES], {
        description: 'Whether spawns from it pull the image; absent: as images.pull says.',
      }),
    ),
    worker_id: Type.Optional(Type.String({ description: 'The only worker for sandboxes spawned from it.' })),
    worker_labels: texts('Labels that a worker needs for sandboxes spawned from it.'),
    metadata: texts('Labels of sandboxes spawned from it.'),
    env: texts('Environment of each exec; values are shown as *** except to admin keys.'),
    setup: Type.Optional(Type.Array(Type.String())),
    prewarm: Type.Integer(),
    ready: Type.Optional(
      Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
        description:
          'Prewarmed sandboxes that are ready, by worker; local is the server. Only admin keys see it, in reads of templates with prewarm.',
      }),
    ),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'Template', additionalProperties: false },
);
export type Template = Static<typeof Template>;

export const TemplateListQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    cursor: Type.Optional(described(Type.String({ maxLength: 512 }), Cursor)),
  },
  { additionalProperties: false },
);
export type TemplateListQuery = Static<typeof TemplateListQuery>;

/** What a spawn may say of its own: everything but the image. */
export const TemplateSpawn = Type.Object(overrides, { $id: 'TemplateSpawn', ...rules });
export type TemplateSpawn = Static<typeof TemplateSpawn>;

export const TemplateDeleted = Type.Object(
  { status: Type.Literal('deleted') },
  { $id: 'TemplateDeleted', additionalProperties: false },
);
export type TemplateDeleted = Static<typeof TemplateDeleted>;
