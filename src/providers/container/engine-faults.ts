// Failures of calls to the engine. The engine's own messages are causes: logged, never sent to a caller.
import { ServiceError } from '../../domain/errors.ts';

/** The engine answered with an error status. */
export class EngineRefusal extends Error {
  readonly status: number;
  /** The engine's message, truncated. */
  readonly words: string;

  constructor(what: string, status: number, words: string) {
    super(`${what}: ${status} ${words}`);
    this.name = 'EngineRefusal';
    this.status = status;
    this.words = words;
  }
}

/** Whether `error` is a refusal with one of these statuses. */
export function refusedWith(error: unknown, ...statuses: number[]): error is EngineRefusal {
  return error instanceof EngineRefusal && statuses.includes(error.status);
}

/** There was no connection: the engine never received the call. */
export class EngineUnreached extends ServiceError {}

/** No connection, or one that broke before the reply was complete: the effect on the engine is then unknown. */
export function engineLost(where: string, cause: unknown): ServiceError {
  const { message, remedy } = tlsAdvice(cause) ?? {
    message: 'Cannot reach the container engine.',
    remedy: 'Start it, or set providers.container.socket or host to its address.',
  };
  const Fault = isBeforeConnection(cause) ? EngineUnreached : ServiceError;
  return new Fault('unavailable', message, {
    cause: new Error(`${where}: ${cause instanceof Error ? cause.message : cause}`, { cause }),
    remedy,
  });
}

/** Several addresses count as unreached if each is. */
function isBeforeConnection(cause: unknown): boolean {
  const { syscall, errors } = (cause ?? {}) as { syscall?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.every(isBeforeConnection);
  return syscall === 'connect' || syscall === 'getaddrinfo';
}

/** A plain request reached an engine that requires TLS. */
export function engineWantsTls(words: string): ServiceError {
  return new ServiceError('unavailable', 'The container engine requires TLS.', {
    cause: new Error(words),
    remedy: 'Set providers.container.tls, or write providers.container.host with https://.',
  });
}

export function engineSlow(what: string, ms: number): ServiceError {
  return new ServiceError('unavailable', `The container engine did not ${what} within ${ms / 1000} s.`, {
    remedy: 'Check the engine on its host.',
  });
}

/** A reply that breaks the engine's API, or is larger than any of its replies. */
export function invalidEngineReply(what: string, cause: unknown): ServiceError {
  return new ServiceError('provider_error', 'The container engine returned an invalid response.', {
    cause: new Error(what, { cause }),
    remedy: 'Check that providers.container points at a Docker-compatible engine.',
  });
}

interface Advice {
  message: string;
  remedy: string;
}

const ADVICE: readonly [pattern: RegExp, message: string, remedy: string][] = [
  [
    /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_UNTRUSTED|CERT_REJECTED|INVALID_CA)/,
    'The certificate of the container engine is not trusted.',
    'Set providers.container.tls.ca_file to the authority that signed it.',
  ],
  [
    /^CERT_(HAS_EXPIRED|NOT_YET_VALID)/,
    'The certificate of the container engine is not valid today.',
    'Renew it, or correct the clocks of both hosts.',
  ],
  [
    /ALTNAME_INVALID/,
    'The certificate of the container engine is for another name.',
    'Set providers.container.host to a name in the certificate.',
  ],
  [
    // Engines report a missing, an untrusted and an expired certificate in the same way.
    /_ALERT_/,
    'The container engine requires a client certificate that it trusts.',
    'Set providers.container.tls.cert_file and key_file to such a certificate and its key.',
  ],
  [
    /^EPROTO|^ERR_SSL_(WRONG_VERSION|HTTP_REQUEST|PACKET_LENGTH)/,
    'The container engine does not use TLS on this port.',
    'Check the port in providers.container.host, or leave out providers.container.tls.',
  ],
  [
    /^ERR_OSSL_/,
    'The files of providers.container.tls are not usable.',
    'Use PEM files, and the key of cert_file as key_file.',
  ],
];

/** Undefined for a failure that is not about TLS. */
function tlsAdvice(cause: unknown): Advice | undefined {
  const { code } = (cause ?? {}) as { code?: unknown };
  const [, message, remedy] = ADVICE.find(([pattern]) => pattern.test(`${code}`)) ?? [];
  return message === undefined || remedy === undefined ? undefined : { message, remedy };
}
