// The answer to whether a spawn would be admitted (docs/design/api.md#admission).
import { type Static, Type } from 'typebox';

/** In the order of the checks; the first that applies is reported. */
export const ADMISSION_REASONS = [
  'provider_unknown',
  'max_ttl',
  'worker_mismatch',
  'worker_unavailable',
  'max_sandboxes',
  'max_sandboxes_per_owner',
  'worker_capacity',
  'pool_full',
] as const;
export type AdmissionReason = (typeof ADMISSION_REASONS)[number];

export const IMAGE_STATES = ['present', 'pullable', 'refused'] as const;
export type ImageState = (typeof IMAGE_STATES)[number];

export const AdmissionDecision = Type.Object(
  {
    allowed: Type.Boolean({ description: 'This spawn would start now.' }),
    queueable: Type.Boolean({ description: 'The spawn would be queued instead of rejected.' }),
    reason: Type.Optional(
      Type.Enum([...ADMISSION_REASONS], { description: 'Why the spawn is not allowed.' }),
    ),
    message: Type.Optional(Type.String({ description: 'The reason as a sentence.' })),
    active_sandboxes: Type.Integer({ description: 'Sandboxes that have not ended.' }),
    max_sandboxes: Type.Integer({ description: '0 means unlimited.' }),
    active_owner_sandboxes: Type.Optional(
      Type.Integer({ description: 'Sandboxes of the owner that have not ended.' }),
    ),
    max_owner_sandboxes: Type.Optional(
      Type.Integer({ description: "The owner's effective limit; 0 means unlimited." }),
    ),
    max_ttl: Type.Optional(Type.String({ description: 'Longest life that may be asked for.' })),
    provider: Type.String({ description: 'The provider that would run it.' }),
    selected_worker_id: Type.Optional(Type.String({ description: 'The worker that would run it.' })),
    eligible_workers: Type.Integer({ description: 'Workers that could run it now.' }),
    image_state: Type.Optional(
      Type.Enum([...IMAGE_STATES], {
        description:
          'Whether the server has the image, would pull it, or would reject the spawn. Absent if another worker would run the sandbox, if the provider has no image store, or if it would run its default root with a warning.',
      }),
    ),
    queue_depth: Type.Integer({ description: 'Spawns in the queue.' }),
    max_spawn_queue: Type.Integer({ description: 'Capacity of the queue.' }),
  },
  { $id: 'AdmissionDecision', additionalProperties: false },
);
export type AdmissionDecision = Static<typeof AdmissionDecision>;
