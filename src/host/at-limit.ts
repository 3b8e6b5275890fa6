// This process has no descriptors left for the pipes of another one. Node then gives a child without streams.
import { ServiceError } from '../domain/errors.ts';

const CODE = 'EMFILE';

export const atLimit = () =>
  new ServiceError('unavailable', 'The service has reached its limit of open files.', {
    remedy: 'Try again. If the error persists, raise the limit of open files.',
    cause: Object.assign(new Error('no file descriptors left for a child process'), { code: CODE }),
  });

/** Says nothing of the program that was to be started. */
export const isAtLimit = (error: unknown) =>
  error instanceof ServiceError && (error.cause as { code?: unknown } | undefined)?.code === CODE;
