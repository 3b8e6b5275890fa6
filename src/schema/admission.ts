// The answer to whether a spawn would be admitted (docs/design/api.md#admission).
import { type Static, Type } from 'typebox';

/** In the order checked; the first that applies is told. */
export const ADMISSION_REASONS = [
  'provider_unknown',
  'max_ttl',
  'worker_unavailable',
  'max_sandboxes',
  'max_sandboxes_per_owner',
  'worker_capacity',
  'pool_full',
] as const;
export type AdmissionReason = (typeof ADMISSION_REASONS)[number];

export const AdmissionDecision = Type.Object(
  {
    allowed: Type.Boolean({ description: 'A spawn like this would be started now.' }),
    queueable: Type.Boolean({ description: 'It would wait for a place instead of being refused.' }),
    reason: Type.Optional(Type.Enum([...ADMISSION_REASONS], { description: 'Why it is not allowed.' })),
    message: Type.Optional(Type.String({ description: 'The same in words.' })),
    active_sandboxes: Type.Integer({ description: 'Sandboxes that have not ended.' }),
    max_sandboxes: Type.Integer({ description: '0 is no cap.' }),
    active_owner_sandboxes: Type.Optional(Type.Integer({ description: 'Those of the owner.' })),
    max_owner_sandboxes: Type.Optional(Type.Integer({ description: 'In force for the owner; 0 is no cap.' })),
    max_ttl: Type.Optional(Type.String({ description: 'Longest life that may be asked for.' })),
    provider: Type.String({ description: 'What would run it.' }),
    selected_worker_id: Type.Optional(Type.String({ description: 'Where it would run.' })),
    eligible_workers: Type.Integer({ description: 'Workers that could run it now.' }),
    queue_depth: Type.Integer({ description: 'Spawns that wait.' }),
    max_spawn_queue: Type.Integer({ description: 'Spawns that may wait.' }),
  },
  { $id: 'AdmissionDecision', additionalProperties: false },
);
export type AdmissionDecision = Static<typeof AdmissionDecision>;
