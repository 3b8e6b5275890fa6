// From a failure to an answer: our own as they say, the framework's by their names, all else as a fault that tells
// nothing. Causes go to the log under the request id.
import { asServiceError, ServiceError } from '../domain/errors.ts';
import { OutputText } from '../domain/output.ts';
import type { Logger } from '../domain/ports.ts';
import { redactor } from '../redact/engine.ts';
import type { ErrorBody, ErrorCode } from '../schema/error.ts';
import { isDisconnect } from './client-disconnect.ts';

export interface ErrorAnswer {
  status: number;
  headers: Record<string, string>;
  body: ErrorBody;
}

/** Fastify's own failures that a request can bring about. */
const FRAMEWORK: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large', 'The body is larger than the limit.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Unsupported content type.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad_request', 'The length of the body differs from Content-Length.'],
  FST_ERR_BAD_URL: ['bad_request', 'The path contains a malformed percent escape.'],
  FST_ERR_MAX_PARAM_LENGTH: ['bad_request', 'A part of the path is too long.'],
  ECONNRESET: ['bad_request', 'The request body is incomplete.'],
};

/** A status of 500 and above that is not a fault of the server. */
const ASKED_FOR: readonly ErrorCode[] = ['resource_limit', 'not_implemented'];

/** Characters. */
const LONGEST_MESSAGE = 8 * 1024;

/** What a caller wrote is quoted to it; answers are logged by proxies and shown to others. */
const clean = redactor({ secrets: [] });

/** `error` as one of ours. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const known = FRAMEWORK[String((error as { code?: unknown } | null)?.code)];
  return known ? new ServiceError(known[0], known[1], { cause: error }) : asServiceError(error);
}

/**
 * Builds status, headers and body, without values that look like a secret. The remedy is the message's last sentence.
 * Administrators also see paths on the host.
 */
export function errorAnswer(error: ServiceError, requestId: string, isAdmin = false): ErrorAnswer {
  const { code, message, remedy, operatorMessage, details, retryAfterMs, status } = error;
  const shown = remedy === undefined ? message : `${message} ${remedy}`;
  const body: ErrorBody = {
    code,
    message: clean.cut((isAdmin ? operatorMessage : undefined) ?? shown, LONGEST_MESSAGE),
    request_id: requestId,
  };
  if (details) body.details = cleanDetails(details);
  const headers: Record<string, string> = {};
  if (retryAfterMs !== undefined)
    headers['Retry-After'] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
  if (status === 416 && typeof details?.size === 'number')
    headers['Content-Range'] = `bytes */${details.size}`;
  if (Array.isArray(details?.allow)) headers.Allow = details.allow.join(', ');
  return { status, headers, body };
}

/** What the caller's own program wrote stays as it is: it is its answer. */
function cleanDetails(details: Record<string, unknown>): Record<string, unknown> {
  const isOutput = ([, value]: [string, unknown]) => value instanceof OutputText;
  const members = Object.entries(details);
  const others = Object.fromEntries(members.filter((member) => !isOutput(member)));
  return {
    ...(clean.value(others) as Record<string, unknown>),
    ...Object.fromEntries(members.filter(isOutput)),
  };
}

/**
 * Logs faults of the server at error level with all causes, and failures that a request caused at debug: a full
 * sandbox, or a feature that is not offered. The access log reports that a client has disconnected.
 */
export function logFailure(logger: Logger, error: ServiceError, requestId: string): void {
  if (isDisconnect(error)) return;
  const fields = { request_id: requestId, code: error.code, status: error.status, cause: error.cause };
  const ours = error.status >= 500 && !ASKED_FOR.includes(error.code);
  if (ours) logger.error({ ...fields, err: error }, error.message);
  else if (error.cause !== undefined) logger.debug(fields, error.message);
}
