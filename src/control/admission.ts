// What a spawn hears that was not admitted. The decision itself is pure (`domain/admission.ts`) and made by the store
// inside the reservation, so that spawns at once cannot over-admit.
import type { AdmissionDecision } from '../domain/admission.ts';
import { ServiceError } from '../domain/errors.ts';

export function admissionRefused(decision: AdmissionDecision): ServiceError {
  const { reason, message = 'The sandbox was not admitted.', active_sandboxes, max_sandboxes } = decision;
  return new ServiceError('resource_limit', message, {
    remedy: 'Destroy one that is no longer needed, or try again later.',
    details: { reason, active_sandboxes, max_sandboxes },
  });
}
