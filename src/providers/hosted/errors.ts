// Errors of the library as ours, by their class: their messages hold what the backend said, and are not looked at.
import { ServiceError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../schema/error.ts';
import { KeyRefused, strangeAnswer } from '../outgoing/faults.ts';
import type { Faults } from './faults.ts';
import { WHAT } from './gate.ts';

type Words = readonly [code: ErrorCode, message: string, status?: number];

const BY_NAME: Record<string, Words> = {
  SandboxNotFoundError: ['unavailable', 'The hosted backend no longer has the sandbox.'],
  FileNotFoundError: ['not_found', 'There is no such file in the sandbox.'],
  NotFoundError: ['not_found', 'The hosted backend does not have what was asked for.'],
  NotEnoughSpaceError: ['resource_limit', 'The disk of the sandbox is full.', 507],
  InvalidArgumentError: ['bad_request', 'The hosted backend does not take this request.'],
  RateLimitError: ['resource_limit', 'The hosted backend has no room now.'],
  ServiceBusyError: ['unavailable', 'The hosted backend cannot serve now.'],
  TimeoutError: ['unavailable', 'The sandbox does not answer at the hosted backend.'],
};

/** What a call of the library failed with. `signal` is the caller's: its reason is what an abort is reported as. */
export function translated(faults: Faults, error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof ServiceError) return error;
  const kept = faults.take(error);
  if (kept instanceof ServiceError) return kept;
  const name = String((error as { name?: unknown } | null)?.name);
  const [code, message, status] = BY_NAME[name] ?? [];
  if (code && message) return new ServiceError(code, message, status === undefined ? {} : { status });
  if (name === 'AuthenticationError')
    return new KeyRefused('provider_error', `${WHAT} refuses our key.`, {
      remedy: 'Set providers.hosted.api_key to the key of the account.',
    });
  return strangeAnswer(WHAT, 'gave an answer that makes no sense');
}
