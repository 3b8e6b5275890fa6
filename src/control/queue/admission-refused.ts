// What a spawn hears that was not admitted and does not wait.
import type { AdmissionDecision } from '../../domain/admission.ts';
import { ServiceError } from '../../domain/errors.ts';
import { ttlRefused } from '../spawn/plan.ts';

export function admissionRefused(decision: AdmissionDecision): ServiceError {
  const { reason, message = 'The sandbox was not admitted.', active_sandboxes, max_sandboxes } = decision;
  const { active_owner_sandboxes, max_owner_sandboxes, maxTtlMs } = decision;
  if (reason === 'max_ttl') return ttlRefused(maxTtlMs);
  const ofOwner = reason === 'max_sandboxes_per_owner' && { active_owner_sandboxes, max_owner_sandboxes };
  const isLost = reason === 'worker_unavailable';
  return new ServiceError(isLost || reason === 'pool_full' ? 'unavailable' : 'resource_limit', message, {
    remedy: isLost
      ? 'See the lists of workers and of providers.'
      : 'Destroy one that is no longer needed, or try again later.',
    details: { reason, active_sandboxes, max_sandboxes, ...ofOwner },
  });
}
