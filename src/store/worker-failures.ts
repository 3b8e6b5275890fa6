// Errors of both stores for workers.
import { ServiceError } from '../domain/errors.ts';

export function tooManyWorkers(most: number): ServiceError {
  return new ServiceError('resource_limit', `There are ${most} workers already.`, {
    remedy: 'Remove workers that no longer exist.',
  });
}
