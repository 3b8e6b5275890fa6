// Errors of the library as ours. A failure of the proxy is kept under a number that comes back in the message of the
// library's error; other errors are mapped by their class, because their messages contain text of the backend.
import { ServiceError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../schema/error.ts';
import { invalidReply, KeyRefused } from '../outgoing/faults.ts';

export const HOSTED_BACKEND = 'The hosted backend';
const MOST = 1024;
const MARK = /svc-fault-(\d{1,15})/;

export class KeptErrors {
  readonly #kept = new Map<number, unknown>();
  #last = 0;

  /** Keeps `error` and returns the message for the library. */
  keep(error: unknown): string {
    this.#last++;
    this.#kept.set(this.#last, error);
    this.#kept.delete(this.#last - MOST);
    return `svc-fault-${this.#last}`;
  }

  /** Removes and returns the error that an error of the library stands for. */
  take(error: unknown): unknown {
    const number = Number(MARK.exec(String((error as { message?: unknown } | null)?.message))?.[1]);
    const kept = this.#kept.get(number);
    this.#kept.delete(number);
    return kept;
  }
}

type Words = readonly [code: ErrorCode, message: string, status?: number];

const BY_NAME: Record<string, Words> = {
  SandboxNotFoundError: ['unavailable', 'The hosted backend no longer has the sandbox.'],
  FileNotFoundError: ['not_found', 'There is no such file in the sandbox.'],
  NotFoundError: ['not_found', 'The hosted backend does not have the requested object.'],
  NotEnoughSpaceError: ['resource_limit', 'The disk of the sandbox is full.', 507],
  InvalidArgumentError: ['bad_request', 'The hosted backend rejects this request.'],
  RateLimitError: ['resource_limit', 'The hosted backend has no capacity now.'],
  ServiceBusyError: ['unavailable', 'The hosted backend is temporarily unavailable.'],
  TimeoutError: ['unavailable', 'The sandbox at the hosted backend does not respond.'],
};

/** The error of a failed library call. An abort is reported as the reason of the caller's `signal`. */
export function translated(faults: KeptErrors, error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof ServiceError) return error;
  const kept = faults.take(error);
  if (kept instanceof ServiceError) return kept;
  const name = String((error as { name?: unknown } | null)?.name);
  const [code, message, status] = BY_NAME[name] ?? [];
  if (code && message) return new ServiceError(code, message, status === undefined ? {} : { status });
  if (name === 'AuthenticationError')
    return new KeyRefused('provider_error', `${HOSTED_BACKEND} rejects the configured key.`, {
      remedy: 'Set providers.hosted.api_key to the key of the account.',
    });
  return invalidReply(HOSTED_BACKEND, 'sent an invalid response');
}
