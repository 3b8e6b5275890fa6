// Failures that every database has: their meaning for callers.
import { type ErrorFacts, ServiceError } from '../domain/errors.ts';
import type { ErrorCode } from '../schema/error.ts';

export interface Meaning extends ErrorFacts {
  code: ErrorCode;
  message: string;
}

export const DAMAGED: Meaning = {
  code: 'internal',
  message: 'The database file is damaged.',
  remedy: 'Stop the service, keep the file, and replace it with a backup.',
};
export const FULL: Meaning = {
  code: 'resource_limit',
  message: 'The disk that holds the database is full.',
  remedy: 'Free space on it; running sandboxes can still be destroyed.',
  status: 507,
};
export const EXISTS: Meaning = {
  code: 'conflict',
  message: 'The record exists already.',
  remedy: 'Use another id.',
};
export const UNEXPECTED: Meaning = {
  code: 'internal',
  message: 'The database returned an unexpected error.',
  remedy: 'Look up the request id in the log.',
};

/** The database's own text is the cause, only for the log. */
export const errorOf = ({ code, message, ...facts }: Meaning, cause?: unknown) =>
  new ServiceError(code, message, { ...facts, cause });

export const damaged = (cause?: unknown) => errorOf(DAMAGED, cause);
export const storeClosed = () =>
  new ServiceError('unavailable', 'The service is stopping.', { remedy: 'Try again once it has started.' });
