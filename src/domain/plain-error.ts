// Errors as plain data, for threads and rows that cannot hold instances of a class.
import type { ErrorCode } from '../schema/error.ts';
import { type ErrorFacts, ServiceError } from './errors.ts';

export interface PlainFailure {
  code: ErrorCode;
  message: string;
  facts: ErrorFacts;
}

interface PlainCause {
  message: string;
  code?: string;
  stack?: string | undefined;
}

export function toPlain({ code, message, remedy, retryAfterMs, details, status, cause }: ServiceError) {
  const facts = {
    status,
    ...(remedy !== undefined && { remedy }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(details !== undefined && { details }),
    ...(cause !== undefined && { cause: plainCause(cause) }),
  };
  return { code, message, facts };
}

export function fromPlain({ code, message, facts }: PlainFailure): ServiceError {
  const { cause, ...rest } = facts;
  return new ServiceError(code, message, { ...rest, ...(cause !== undefined && { cause: errorOf(cause) }) });
}

function plainCause(cause: unknown): PlainCause {
  if (!(cause instanceof Error)) return { message: String(cause) };
  const code = 'code' in cause && typeof cause.code === 'string' ? { code: cause.code } : {};
  return { message: cause.message, stack: cause.stack, ...code };
}

function errorOf(cause: unknown): Error {
  const { message, code, stack } = cause as PlainCause;
  const error = Object.assign(new Error(message), code === undefined ? {} : { code });
  if (stack !== undefined) error.stack = stack;
  return error;
}
