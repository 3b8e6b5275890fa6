// Failures of calls as ServiceErrors: what the server answered, and what happened to the connection.
import { ERROR_TABLE, ServiceError } from '../domain/errors.ts';
import type { ErrorCode } from '../schema/error.ts';

/** The server's address, for requests and error messages. */
export interface Address {
  origin: string;
  /** The source of the address, such as `from SVC_SERVER`. */
  from?: string | undefined;
  /** Bytes of a JSON answer at most; 256 MiB unless given. */
  maxJsonBytes?: number | undefined;
}

interface AnswerFacts {
  status?: number | undefined;
  /** Seconds; NaN where the server names no time. */
  retryAfter?: number;
  /** For a text that does not hold it. */
  requestId?: string | undefined;
}

/** The failure in the JSON text of an answer, with the server's message. */
export function answerFailure(
  text: string,
  address: Address,
  { status, retryAfter = Number.NaN, requestId }: AnswerFacts = {},
): ServiceError {
  const { code, message, details, request_id = requestId } = parse(text);
  const isKnown = typeof code === 'string' && Object.hasOwn(ERROR_TABLE, code);
  if (!isKnown || typeof message !== 'string') return unexpectedAnswer(undefined, address, status);
  return new ServiceError(code as ErrorCode, message, {
    ...(status !== undefined && { status }),
    ...(code === 'unauthorized' && { hint: 'api_key' }),
    details: { ...(details as object | undefined), ...(request_id ? { request_id } : {}) },
    ...(Number.isFinite(retryAfter) && { retryAfterMs: retryAfter * 1000 }),
  });
}

function parse(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

export function unexpectedAnswer(cause: unknown, address: Address, status?: number): ServiceError {
  const what = status === undefined ? 'an answer' : `status ${status}`;
  return new ServiceError('internal', `${serverAt(address)} sent ${what} that does not come from this API.`, {
    cause,
    remedy: `Check that ${address.origin}${sourceSuffix(address)} is the address of svc.`,
  });
}

export const serverAt = ({ origin }: Address) => `The server at ${origin}`;
const sourceSuffix = ({ from }: Address) => (from === undefined ? '' : ` (${from})`);

/** Reasons for failed connections by system error code. */
const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name has no address',
  EAI_AGAIN: 'the host name lookup failed',
  ECONNRESET: 'the other side closed it',
  EPIPE: 'the other side closed it',
  UND_ERR_SOCKET: 'the other side closed it',
  ETIMEDOUT: 'it timed out',
  UND_ERR_CONNECT_TIMEOUT: 'it timed out',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the host',
  EPROTO: 'the server does not use TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not use TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the server does not use TLS',
};

/** A transport error as a ServiceError. An abort by the caller keeps the caller's own reason. */
export function transportFailure(error: unknown, address: Address, signal?: AbortSignal): unknown {
  if (error instanceof ServiceError) return error;
  if (signal?.aborted) return signal.reason;
  const code = String((error as { code?: unknown } | null)?.code);
  const { origin } = address;
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new ServiceError('timeout', `${serverAt(address)} did not answer in time.`, { cause: error });
  }
  if (code === 'ECONNREFUSED' || code === 'ENOENT') {
    return new ServiceError('unavailable', `No server answers at ${origin}${sourceSuffix(address)}.`, {
      cause: error,
      hint: 'server_address',
      remedy: 'Start the server: svc serve',
    });
  }
  const why = CONNECTION_ERRORS[code];
  const words = `The connection to ${origin}${sourceSuffix(address)} failed${why === undefined ? '' : `: ${why}`}.`;
  return new ServiceError('unavailable', words, {
    cause: error,
    remedy: 'Check the address, and that the server is running.',
  });
}
