// This process has no descriptors left for the pipes of another one. Node then gives a child without streams.
import { ServiceError } from '../domain/errors.ts';

const CODE = 'EMFILE';

export const atLimit = () =>
  new ServiceError('unavailable', 'The service has as many files open as it may.', {
    remedy: 'Try again; if it stays so, raise its limit of open files.',
    cause: Object.assign(new Error('no descriptors are left for a child'), { code: CODE }),
  });

/** Says nothing of the program that was to be started. */
export const isAtLimit = (error: unknown) =>
  error instanceof ServiceError && (error.cause as { code?: unknown } | undefined)?.code === CODE;
