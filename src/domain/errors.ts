// The one error class and the one table from code to HTTP status and exit code.
import type { ErrorCode } from '../schema/error.ts';

interface ErrorClass {
  status: number;
  exit: number;
  /** A retry of the same request can succeed without anybody changing anything. */
  transient: boolean;
}

export const ERROR_TABLE: Record<ErrorCode, ErrorClass> = {
  bad_request: { status: 400, exit: 2, transient: false },
  unauthorized: { status: 401, exit: 6, transient: false },
  forbidden: { status: 403, exit: 6, transient: false },
  not_found: { status: 404, exit: 4, transient: false },
  method_not_allowed: { status: 405, exit: 2, transient: false },
  timeout: { status: 408, exit: 9, transient: true },
  conflict: { status: 409, exit: 5, transient: false },
  precondition_failed: { status: 412, exit: 5, transient: false },
  payload_too_large: { status: 413, exit: 2, transient: false },
  unsupported_media_type: { status: 415, exit: 2, transient: false },
  resource_limit: { status: 429, exit: 7, transient: true },
  provider_error: { status: 500, exit: 1, transient: false },
  internal: { status: 500, exit: 1, transient: false },
  not_implemented: { status: 501, exit: 1, transient: false },
  unavailable: { status: 503, exit: 8, transient: true },
};

/** Failures for which a front end has a better remedy than the one for programs. */
export type ErrorHint = 'api_key' | 'server_address';

export interface ErrorFacts {
  /** What the reader can do about it, as a sentence. Shown after the message. */
  remedy?: string | undefined;
  /** Never sent. */
  hint?: ErrorHint | undefined;
  retryAfterMs?: number | undefined;
  /** Public facts, sent as `details`. */
  details?: Record<string, unknown> | undefined;
  /** The inner failure: logged, never sent. */
  cause?: unknown;
  /** The message and remedy including host paths. Only administrators see it. */
  operatorMessage?: string | undefined;
  /** Set where one code has a second status (507 full disk, 502 preview, 416 range). */
  status?: number | undefined;
}

/** Every failure that crosses a seam. `message` and `remedy` are public: no host paths, SQL, or backend text. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly remedy: string | undefined;
  readonly hint: ErrorHint | undefined;
  readonly retryAfterMs: number | undefined;
  readonly details: Record<string, unknown> | undefined;
  readonly operatorMessage: string | undefined;
  readonly status: number;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    const frames = Error.stackTraceLimit;
    // These come in floods, and say by their reason where they are from: to note the stack is a twentieth of what each costs.
    if (code === 'resource_limit') Error.stackTraceLimit = 0;
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    Error.stackTraceLimit = frames;
    this.name = 'ServiceError';
    this.code = code;
    this.remedy = facts.remedy;
    this.hint = facts.hint;
    this.retryAfterMs = facts.retryAfterMs;
    this.details = facts.details;
    this.operatorMessage = facts.operatorMessage;
    this.status = facts.status ?? ERROR_TABLE[code].status;
  }

  get exitCode(): number {
    return ERROR_TABLE[this.code].exit;
  }
}

/** The backend does not have the sandbox it was called about. Whoever catches this checks whether the sandbox still lives. */
export class SandboxMissing extends ServiceError {
  constructor(message: string, cause: unknown) {
    super('not_found', message, { cause, remedy: 'It may have expired. Spawn a new one.' });
  }
}

/** Returns a ServiceError as it is; wraps any other error in an `internal` one that hides its text and keeps it as cause. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError('internal', 'Internal error.', {
    cause: error,
    remedy: 'Look up the request id in the log.',
  });
}
