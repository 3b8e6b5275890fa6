// Which part of the service acted where no caller did: the closed list of `system:<cause>` (docs/design/api.md#actors).
import type { EndReason } from '../schema/sandbox.ts';

/** Additions are allowed, removals are not: stored records keep what they name. */
export const SYSTEM_CAUSES = [
  'disconnected',
  'egress',
  'expired',
  'health',
  'image',
  'lease',
  'prewarm',
  'preview',
  'probe',
  'reconcile',
  'reload',
  'runtime_lost',
  'spawn_failed',
  'usage',
  'worker_lost',
] as const;

export type SystemActor = `system:${(typeof SYSTEM_CAUSES)[number]}`;

/** Ends that no caller asks for. */
export type SystemEnd = Exclude<EndReason, 'destroyed' | 'pruned'>;

/** Who ends a sandbox for a reason of the service's own. */
export function systemEnd(reason: SystemEnd): SystemActor {
  return reason === 'reconciled' ? 'system:reconcile' : `system:${reason}`;
}
