// The error for operations that a backend behind HTTP does not support.
import { ServiceError } from '../../domain/errors.ts';

/** `what` completes "has no …". */
export function unsupported(kind: string, what: string): ServiceError {
  return new ServiceError('not_implemented', `Provider ${kind} has no ${what}.`, {
    remedy: 'Check the capabilities of the provider, or use another provider.',
  });
}
