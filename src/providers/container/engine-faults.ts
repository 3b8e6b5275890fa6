// What can go wrong between us and the engine. The engine's own words are causes: logged, never sent to a caller.
import { ServiceError } from '../../domain/errors.ts';
import { tlsAdvice } from './tls-faults.ts';

/** The engine answered, and said no. */
export class EngineRefusal extends Error {
  readonly status: number;
  /** Its words, cut short. */
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

/** There was no connection: the engine has heard nothing of the call. */
export class EngineUnreached extends ServiceError {}

/** No connection, or one that broke before the answer was whole: then nobody knows what the engine did. */
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

/** Where several addresses were tried, none was reached. */
function isBeforeConnection(cause: unknown): boolean {
  const { syscall, errors } = (cause ?? {}) as { syscall?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.every(isBeforeConnection);
  return syscall === 'connect' || syscall === 'getaddrinfo';
}

/** An engine that speaks TLS only was spoken to in plain. */
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

/** An answer that is not the engine's interface, or longer than any of its answers is. */
export function invalidEngineReply(what: string, cause: unknown): ServiceError {
  return new ServiceError('provider_error', 'The container engine returned an invalid response.', {
    cause: new Error(what, { cause }),
    remedy: 'Check that providers.container points at a Docker-compatible engine.',
  });
}
