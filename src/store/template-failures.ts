// What both stores say when a template cannot be made.
import { ServiceError } from '../domain/errors.ts';

export const templateTaken = () =>
  new ServiceError('conflict', 'A template of this name exists already.', {
    remedy: 'Update it, or take another name.',
  });

export const tooManyTemplates = (most: number) =>
  new ServiceError('resource_limit', `There are ${most} templates already.`, {
    remedy: 'Delete those that nobody uses.',
  });
