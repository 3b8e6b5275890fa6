// What the control plane says to a worker: `POST /rpc` (docs/design/api.md#workers). Unknown fields are ignored
// here, unlike elsewhere, so that the two sides may be one version apart.
import { type Static, Type } from 'typebox';
import { ERROR_CODES } from './error.ts';
import { IMAGE_DIGEST, IMAGE_POLICIES } from './image-policy.ts';
import { Lease } from './lease.ts';
import { IMAGE_METHODS } from './worker-images.ts';

export const RPC_METHODS = [
  'worker.spawn',
  'worker.status',
  'worker.destroy',
  'worker.renew_lease',
  'worker.shutdown',
  'worker.image',
  'worker.usage',
  ...IMAGE_METHODS,
] as const;
export type RpcMethod = (typeof RPC_METHODS)[number];

const SandboxId = Type.String({
  pattern: '^sb[-_][A-Za-z0-9]{1,64}$',
  description: 'A sandbox id that starts with sb-.',
});
const WorkerId = Type.String({ minLength: 1, maxLength: 128 });
const Duration = Type.String({ minLength: 1, maxLength: 64 });
const provider = Type.String({ minLength: 1, maxLength: 64 });
const private_images = Type.Optional(
  Type.Boolean({
    description: "May use the worker's credentials for registries, and images that were pulled with them.",
  }),
);
const RuntimeId = Type.String({
  pattern: '^[\\x21-\\x7e]{1,512}$',
  description: 'Printable characters without spaces.',
});

export const RpcRequest = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 128, description: 'Returned in the response.' }),
    method: Type.String({ minLength: 1, maxLength: 64 }),
    worker_id: WorkerId,
    lease: Type.Optional(Lease),
    params: Type.Record(Type.String(), Type.Unknown()),
  },
  { $id: 'RpcRequest' },
);
export type RpcRequest = Static<typeof RpcRequest>;

/** Every value in force, not what was asked: a worker has no defaults. `env`, owner and metadata stay at the control plane. */
export const RpcSpawnParams = Type.Object({
  sandbox_id: SandboxId,
  provider,
  image: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  memory_mb: Type.Integer({ minimum: 16, maximum: 1_048_576 }),
  vcpus: Type.Integer({ minimum: 1, maximum: 256 }),
  ttl: Type.String({
    ...Duration,
    description: 'Remaining lifetime; the worker then ends the sandbox by itself.',
  }),
  network: Type.Optional(Type.Enum(['default', 'none'])),
  image_policy: Type.Optional(Type.Enum([...IMAGE_POLICIES])),
  private_images,
  gate: Type.Optional(Type.Boolean({ description: 'Make a transparent gate for outgoing connections.' })),
  trust: Type.Optional(
    Type.String({ maxLength: 16_384, description: 'A certificate in PEM that its programs are to trust.' }),
  ),
  strict: Type.Optional(
    Type.Boolean({
      description: 'Reject with precondition_failed if the sandbox would differ from this.',
    }),
  ),
});
export type RpcSpawnParams = Static<typeof RpcSpawnParams>;

/** Before `worker.spawn`, where the worker may have to pull. `account` tells owners apart without naming them. */
export const RpcImageParams = Type.Object({
  provider,
  image: Type.String({ minLength: 1, maxLength: 512 }),
  image_policy: Type.Enum([...IMAGE_POLICIES]),
  private_images,
  account: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
});
export type RpcImageParams = Static<typeof RpcImageParams>;

/** `pulling` means that the pull continues, and the call is repeated. `failed` has the code of the failure. */
export const RpcImageResult = Type.Object({
  state: Type.Enum(['ready', 'pulling', 'failed']),
  pulled: Type.Optional(Type.Boolean({ description: 'True if the worker pulled it just now.' })),
  code: Type.Optional(Type.Enum([...ERROR_CODES])),
  message: Type.Optional(Type.String({ maxLength: 4096, description: 'For the log of the control plane.' })),
  retry_after_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000 })),
});
export type RpcImageResult = Static<typeof RpcImageResult>;

export const RpcSpawnResult = Type.Object({
  sandbox_id: Type.String(),
  runtime_id: RuntimeId,
  state: Type.Literal('running'),
  provider,
  worker_id: WorkerId,
  image: Type.Optional(Type.String({ pattern: '^[\\x21-\\x7e]{1,512}$' })),
  image_digest: Type.Optional(Type.String({ pattern: IMAGE_DIGEST })),
  memory_mb: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_048_576 })),
  vcpus: Type.Optional(Type.Integer({ minimum: 1, maximum: 256 })),
  warnings: Type.Optional(Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 64 })),
});
export type RpcSpawnResult = Static<typeof RpcSpawnResult>;

/** The subject of `worker.status` and `worker.destroy`. Without `runtime_id` the worker finds it by the sandbox. */
export const RpcRuntimeParams = Type.Object({
  sandbox_id: SandboxId,
  provider,
  runtime_id: Type.Optional(RuntimeId),
});
export type RpcRuntimeParams = Static<typeof RpcRuntimeParams>;

export const RpcStatusParams = Type.Object({
  ...RpcRuntimeParams.properties,
  image: Type.Optional(
    Type.Boolean({ description: 'Also tell whether a start of the same image would run what this runs.' }),
  ),
});
export type RpcStatusParams = Static<typeof RpcStatusParams>;

/** `gone` is an answer, not an error. Workers of earlier versions do not tell `image_is_current`. */
export const RpcStatusResult = Type.Object({
  sandbox_id: Type.String(),
  state: Type.Enum(['running', 'stopped', 'gone']),
  provider,
  image_is_current: Type.Optional(Type.Boolean()),
});
export type RpcStatusResult = Static<typeof RpcStatusResult>;

export const RpcDestroyResult = Type.Object({
  sandbox_id: Type.String(),
  state: Type.Literal('gone'),
  provider,
});
export type RpcDestroyResult = Static<typeof RpcDestroyResult>;

export const MOST_MEASURED = 500;

/** Sandboxes of one provider. Workers of earlier versions refuse the method. */
export const RpcUsageParams = Type.Object({
  provider,
  sandbox_ids: Type.Array(SandboxId, { maxItems: MOST_MEASURED }),
});
export type RpcUsageParams = Static<typeof RpcUsageParams>;

const whole = Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

/** Sandboxes that cannot be measured are left out. */
export const RpcUsageResult = Type.Object({
  readings: Type.Record(
    Type.String({ pattern: '^sb[-_][A-Za-z0-9]{1,64}$' }),
    Type.Object({
      counter: Type.String({ minLength: 1, maxLength: 256 }),
      source: Type.Enum(['host', 'engine', 'guest']),
      cpu_us: whole,
      memory_bytes: whole,
      peak_memory_bytes: whole,
      oom_kills: whole,
      processes: whole,
      disk_bytes: whole,
      rx_bytes: whole,
      tx_bytes: whole,
    }),
    { maxProperties: MOST_MEASURED },
  ),
});
export type RpcUsageResult = Static<typeof RpcUsageResult>;

export const RpcRenewParams = Type.Object({
  resource_id: SandboxId,
  ttl: Type.String({ ...Duration, description: 'Requested duration of the lease.' }),
  sandbox_ttl: Type.Optional(
    Type.String({
      ...Duration,
      description: 'Remaining lifetime of the sandbox, if it was extended.',
    }),
  ),
});
export type RpcRenewParams = Static<typeof RpcRenewParams>;

/** Also the answer of the control plane to a worker that renews. */
export const RpcRenewResult = Type.Object({
  lease: Lease,
  sandbox_ttl: Type.Optional(
    Type.String({ maxLength: 64, description: 'Remaining lifetime of the sandbox.' }),
  ),
});
export type RpcRenewResult = Static<typeof RpcRenewResult>;

export const RpcShutdownResult = Type.Object({ status: Type.Literal('draining') });
export type RpcShutdownResult = Static<typeof RpcShutdownResult>;

export const RpcError = Type.Object({
  code: Type.Enum([...ERROR_CODES]),
  message: Type.String({ maxLength: 4096 }),
});
export type RpcError = Static<typeof RpcError>;

/** One of `result` and `error`; the HTTP status is that of the error's code. */
export const RpcAnswer = Type.Object(
  {
    id: Type.String({ maxLength: 128 }),
    worker_id: WorkerId,
    result: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    error: Type.Optional(RpcError),
  },
  { $id: 'RpcAnswer' },
);
export type RpcAnswer = Static<typeof RpcAnswer>;

/** What `GET /session/{id}` presents (docs/design/worker-sessions.md). */
export const SessionOpening = Type.Object({ lease: Lease });
