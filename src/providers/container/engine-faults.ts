// Failures of calls to the engine. The engine's own messages are causes: logged, never sent to a caller.
import { ServiceError } from '../../domain/errors.ts';
import { tlsAdvice } from './tls-faults.ts';

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
