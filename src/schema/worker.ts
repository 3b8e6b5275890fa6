// Workers and their heartbeats (docs/design/api.md#workers). `local` is a worker, too.
import { type Static, Type } from 'typebox';
import { WORKER_ID } from './config-kinds.ts';
import { Lease } from './lease.ts';
import { duration, PositiveDuration } from './text-rules.ts';

export const WORKER_STATUSES = ['online', 'draining', 'offline'] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

/** As in `auth.worker_tokens`. */
export const WorkerId = Type.String({
  pattern: WORKER_ID,
  description: 'Letters, digits and . _ -, at most 128.',
});

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 64, description });
const room = (description: string) => Type.Integer({ minimum: 0, maximum: 1_000_000_000, description });

export const Capacity = Type.Object(
  {
    max_sandboxes: Type.Optional(room('Sandboxes at once; 0 is unknown.')),
    memory_mb: Type.Optional(room('Memory in megabytes; 0 is unknown.')),
    vcpus: Type.Optional(room('Processors; 0 is unknown.')),
  },
  { $id: 'WorkerCapacity', additionalProperties: false },
);
export type Capacity = Static<typeof Capacity>;

export const RPC_URL = '^(https?://[^\\s/?#@]{1,255}(/[^\\s?#]{0,255})?)?$';
const RpcUrl = Type.String({
  pattern: RPC_URL,
  description:
    'Where the worker takes calls; /rpc is appended. Empty: nowhere. Left out: where it did before.',
});
const stamp = (description: string) => Type.String({ format: 'date-time', description });

/** Other fields are let through and ignored: a worker may be a version ahead of its control plane. */
export const HeartbeatBody = Type.Object(
  {
    hostname: Type.Optional(Type.String({ maxLength: 255 })),
    status: Type.Optional(Type.Enum([...WORKER_STATUSES])),
    providers: Type.Optional(names('Providers that can start sandboxes now.')),
    capabilities: Type.Optional(names('What it can do.')),
    capacity: Type.Optional(Capacity),
    rpc_url: Type.Optional(RpcUrl),
    version: Type.Optional(Type.String({ maxLength: 64 })),
  },
  { $id: 'WorkerHeartbeat' },
);
export type HeartbeatBody = Static<typeof HeartbeatBody>;

export const Worker = Type.Object(
  {
    id: Type.String(),
    hostname: Type.String(),
    status: Type.Enum([...WORKER_STATUSES]),
    providers: Type.Array(Type.String()),
    capabilities: Type.Array(Type.String()),
    capacity: Type.Object(
      { max_sandboxes: Type.Integer(), memory_mb: Type.Integer(), vcpus: Type.Integer() },
      { additionalProperties: false, description: '0 is unknown.' },
    ),
    rpc_url: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    active_sandboxes: Type.Integer({ description: 'Its sandboxes that have not ended.' }),
    last_heartbeat: stamp('When it was last heard.'),
    stale: Type.Boolean({ description: 'Not heard for four heartbeat intervals, at least 60 s.' }),
    drain: Type.Boolean({ description: 'It is to take no more sandboxes.' }),
    created_at: stamp('When it was first heard.'),
    updated_at: stamp('When what is known of it last changed.'),
  },
  { $id: 'Worker', additionalProperties: false },
);
export type Worker = Static<typeof Worker>;

export const DrainRequest = Type.Object(
  {
    drain: Type.Optional(
      Type.Boolean({ default: true, description: 'false lets it take sandboxes again; true.' }),
    ),
  },
  { $id: 'DrainRequest', additionalProperties: false },
);
export type DrainRequest = Static<typeof DrainRequest>;

export const WorkerDeleted = Type.Object(
  { status: Type.Literal('deleted') },
  { $id: 'WorkerDeleted', additionalProperties: false },
);

export const RenewRequest = Type.Object(
  {
    ttl: Type.Optional(
      duration('A duration; at most the length of leases here, which it is when left out.', PositiveDuration),
    ),
  },
  { $id: 'LeaseRenewal' },
);
export type RenewRequest = Static<typeof RenewRequest>;

export const RenewReply = Type.Object(
  {
    lease: Lease,
    sandbox_ttl: Type.String({ description: 'What is left of the life of the sandbox; 0s when it is over.' }),
  },
  { $id: 'LeaseRenewed', additionalProperties: false },
);
export type RenewReply = Static<typeof RenewReply>;
