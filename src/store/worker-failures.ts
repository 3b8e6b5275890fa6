// The refusals of workers that every store words alike.
import { ServiceError } from '../domain/errors.ts';

export function tooManyWorkers(most: number): ServiceError {
  return new ServiceError('resource_limit', `There are ${most} workers already.`, {
    remedy: 'Remove those that are gone.',
  });
}
