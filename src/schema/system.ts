// Liveness, readiness and health (docs/design/api.md#health-and-metrics).
import { type Static, Type } from 'typebox';

export const Live = Type.Object(
  {
    status: Type.Literal('alive'),
    version: Type.Optional(Type.String()),
    uptime: Type.Optional(Type.String()),
  },
  { $id: 'Live', additionalProperties: false },
);
export type Live = Static<typeof Live>;

const readyProvider = Type.Object(
  { name: Type.String(), healthy: Type.Boolean() },
  { additionalProperties: false },
);

const readiness = {
  providers: Type.Optional(Type.Array(readyProvider)),
  ready_providers: Type.Optional(Type.Integer()),
  total_providers: Type.Optional(Type.Integer()),
};

export const Ready = Type.Object(
  { status: Type.Enum(['ready', 'not_ready']), ...readiness },
  { $id: 'Ready', additionalProperties: false },
);
export type Ready = Static<typeof Ready>;

export const NotReady = Type.Object(
  {
    status: Type.Literal('not_ready'),
    code: Type.Literal('unavailable'),
    message: Type.String(),
    request_id: Type.String(),
    ...readiness,
  },
  { $id: 'NotReady', additionalProperties: false },
);

const check = Type.Object(
  {
    status: Type.Enum(['ok', 'degraded', 'failed']),
    latency_ms: Type.Optional(Type.Number()),
    message: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

export const Health = Type.Object(
  {
    status: Type.Enum(['ok', 'degraded']),
    version: Type.Optional(Type.String()),
    uptime: Type.Optional(Type.String()),
    uptime_seconds: Type.Optional(Type.Number()),
    checks: Type.Object(
      { database: check, providers: check, workers: check, replicas: Type.Optional(check) },
      { additionalProperties: false },
    ),
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Risky settings of the configuration and missing capabilities of pool VMs. Warnings do not change the status.',
      }),
    ),
  },
  { $id: 'Health', additionalProperties: false },
);
export type Health = Static<typeof Health>;
