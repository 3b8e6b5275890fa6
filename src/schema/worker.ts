// Workers and their heartbeats (docs/design/api.md#workers). `local` is a worker, too.
import { type Static, Type } from 'typebox';
import { WORKER_ID } from './config-kinds.ts';
import { Lease } from './lease.ts';
import { duration, PositiveDuration } from './text-rules.ts';
import { workerLabels } from './worker-labels.ts';

export const WORKER_STATUSES = ['online', 'draining', 'offline'] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

/** As in `auth.worker_tokens`. */
export const WorkerId = Type.String({
  pattern: WORKER_ID,
  description: 'Letters, digits and . _ -, at most 128.',
});

const names = (description: string) =>
  Type.Array(Type.String({ pattern: '^[!-~]{1,64}$' }), { maxItems: 64, description });
export const MOST_IMAGES = 64;
/** At most 256 characters. */
export const REPORTED_IMAGE = '^[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,255}$';
const room = (description: string) => Type.Integer({ minimum: 0, maximum: 1_000_000_000, description });

export const Capacity = Type.Object(
  {
    max_sandboxes: Type.Optional(room('Maximum number of sandboxes; 0 means unknown.')),
    memory_mb: Type.Optional(room('Memory in megabytes; 0 means unknown.')),
    vcpus: Type.Optional(room('Processors; 0 means unknown.')),
  },
  { $id: 'WorkerCapacity', additionalProperties: false },
);
export type Capacity = Static<typeof Capacity>;

export const RPC_URL = '^(https?://[^\\s/?#@]{1,255}(/[^\\s?#]{0,255})?)?$';
const RpcUrl = Type.String({
  pattern: RPC_URL,
  description:
    'URL at which the worker accepts calls; /rpc is appended. Empty clears the URL; if omitted, the previous URL is kept.',
});
const stamp = (description: string) => Type.String({ format: 'date-time', description });

/** Other fields are let through and ignored: a worker may be a version ahead of its control plane. */
export const HeartbeatBody = Type.Object(
  {
    hostname: Type.Optional(Type.String({ maxLength: 255 })),
    status: Type.Optional(Type.Enum([...WORKER_STATUSES])),
    providers: Type.Optional(names('Providers that can currently start sandboxes.')),
    capabilities: Type.Optional(names('Capabilities of the worker.')),
    capacity: Type.Optional(Capacity),
    labels: Type.Optional(workerLabels('Labels of the worker; all of them, as those before are replaced.')),
    images: Type.Optional(
      Type.Array(Type.String({ pattern: REPORTED_IMAGE }), {
        maxItems: MOST_IMAGES,
        description:
          'Images that its sandboxes start from without a download; spawns of them prefer this worker.',
      }),
    ),
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
    labels: Type.Record(Type.String({ pattern: '^[\\s\\S]*$' }), Type.String(), {
      description: 'Labels from its configuration.',
    }),
    rpc_url: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    active_sandboxes: Type.Integer({ description: 'Sandboxes on the worker that have not ended.' }),
    prewarmed_sandboxes: Type.Integer({
      description:
        'Prewarmed sandboxes on the worker that start, are ready or end. They leave it its capacity.',
    }),
    active_by_provider: Type.Record(Type.String({ pattern: '^[\\s\\S]*$' }), Type.Integer(), {
      description: 'The same by provider; providers without sandboxes are left out.',
    }),
    free_sandboxes: Type.Optional(
      Type.Integer({ description: 'Sandboxes that it can still take; absent if its capacity is unknown.' }),
    ),
    last_heartbeat: stamp('Time of the last heartbeat.'),
    stale: Type.Boolean({
      description: 'True if no heartbeat arrived for four heartbeat intervals, at least 60 s.',
    }),
    drain: Type.Boolean({ description: 'True if the worker does not get new sandboxes.' }),
    created_at: stamp('Time of the first heartbeat.'),
    updated_at: stamp('When its status last changed.'),
  },
  { $id: 'Worker', additionalProperties: false },
);
export type Worker = Static<typeof Worker>;

export const DrainRequest = Type.Object(
  {
    drain: Type.Optional(
      Type.Boolean({ default: true, description: 'false lets the worker get new sandboxes again; true.' }),
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
      duration("A duration, at most the server's lease duration, which is the default.", PositiveDuration),
    ),
  },
  { $id: 'LeaseRenewal' },
);
export type RenewRequest = Static<typeof RenewRequest>;

export const RenewReply = Type.Object(
  {
    lease: Lease,
    sandbox_ttl: Type.String({ description: 'Remaining lifetime of the sandbox; 0s if it has ended.' }),
  },
  { $id: 'LeaseRenewed', additionalProperties: false },
);
export type RenewReply = Static<typeof RenewReply>;
