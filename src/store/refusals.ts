// Errors of both stores for templates and workers that cannot be created.
import { ServiceError } from '../domain/errors.ts';
import type { TemplateLimits } from './seam/templates.ts';

export const templateTaken = () =>
  new ServiceError('conflict', 'A template of this name exists already.', {
    remedy: 'Update it, or choose another name.',
  });

/** Throws `resource_limit` if one more would exceed a limit. */
export function refuseTooMany(
  present: { all: number; ofOwner: number },
  owner_id: string | undefined,
  { most, ofOwner }: TemplateLimits,
): void {
  if (owner_id !== undefined && present.ofOwner >= ofOwner)
    throw tooMany(`The owner has ${ofOwner} templates already.`);
  if (present.all >= most) throw tooMany(`There are ${most} templates already.`);
}

const tooMany = (message: string) =>
  new ServiceError('resource_limit', message, { remedy: 'Delete templates that nobody uses.' });

export function tooManyWorkers(most: number): ServiceError {
  return new ServiceError('resource_limit', `There are ${most} workers already.`, {
    remedy: 'Remove workers that no longer exist.',
  });
}
