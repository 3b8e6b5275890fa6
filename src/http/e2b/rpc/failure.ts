// Failures of RPCs: codes of the Connect protocol, and the HTTP statuses that unary calls answer with.
import { asServiceError, type ServiceError } from '../../../domain/errors.ts';
import { errorAnswer } from '../../errors.ts';

const STATUSES = {
  invalid_argument: 400,
  failed_precondition: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  resource_exhausted: 429,
  canceled: 499,
  internal: 500,
  unknown: 500,
  unimplemented: 501,
  unavailable: 503,
  deadline_exceeded: 504,
} as const;

export type RpcCode = keyof typeof STATUSES;

/** A failure with a code and a text of its own: clients compare some of the texts. */
export class RpcFailure extends Error {
  readonly code: RpcCode;

  constructor(code: RpcCode, message: string) {
    super(message);
    this.name = 'RpcFailure';
    this.code = code;
  }

  get status(): number {
    return STATUSES[this.code];
  }
}

const CODES: Partial<Record<ServiceError['code'], RpcCode>> = {
  bad_request: 'invalid_argument',
  payload_too_large: 'resource_exhausted',
  unauthorized: 'unauthenticated',
  forbidden: 'permission_denied',
  not_found: 'not_found',
  conflict: 'already_exists',
  resource_limit: 'resource_exhausted',
  timeout: 'deadline_exceeded',
  not_implemented: 'unimplemented',
  unavailable: 'unavailable',
};

export function rpcFailure(error: unknown, request_id: string): RpcFailure {
  if (error instanceof RpcFailure) return error;
  const failure = asServiceError(error);
  return new RpcFailure(CODES[failure.code] ?? 'internal', errorAnswer(failure, request_id).body.message);
}
