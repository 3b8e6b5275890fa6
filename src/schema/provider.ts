// Provider objects of the API (docs/design/api.md#providers).
import { type Static, Type } from 'typebox';

export const PROVIDER_KINDS = ['container', 'userspace', 'microvm', 'hosted', 'custom'] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

export const CAPABILITIES = [
  'exec',
  'stream',
  'pty',
  'detach',
  'files',
  'connect',
  'console',
  'snapshots',
  'network_none',
] as const;
export type Capability = (typeof CAPABILITIES)[number];

const item = {
  name: Type.String(),
  label: Type.Optional(Type.String({ description: 'Display name set by the operator.' })),
  kind: Type.String(),
  default: Type.Boolean(),
  healthy: Type.Boolean(),
  latency_ms: Type.Number(),
  last_checked: Type.Optional(Type.String({ format: 'date-time' })),
  error: Type.Optional(Type.String()),
  capabilities: Type.Array(Type.Enum([...CAPABILITIES])),
};

export const ProviderItem = Type.Object(item, { $id: 'Provider', additionalProperties: false });
export type ProviderItem = Static<typeof ProviderItem>;

export const Isolation = Type.Record(Type.String(), Type.String(), {
  $id: 'Isolation',
  description: 'The isolation mechanism for filesystem, process, network, memory, disk and user, or none.',
});
export type Isolation = Static<typeof Isolation>;

export const ProviderDetail = Type.Object(
  {
    ...item,
    sandbox_count: Type.Integer(),
    isolation: Isolation,
    images: Type.Array(Type.String()),
    config: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Effective configuration, secrets masked.',
    }),
  },
  { $id: 'ProviderDetail', additionalProperties: false },
);
export type ProviderDetail = Static<typeof ProviderDetail>;

export const ProviderTests = Type.Record(
  Type.String(),
  Type.Object(
    { healthy: Type.Boolean(), latency_ms: Type.Number(), error: Type.Optional(Type.String()) },
    { additionalProperties: false },
  ),
  { $id: 'ProviderTests', description: 'Provider health by provider name.' },
);
export type ProviderTests = Static<typeof ProviderTests>;
