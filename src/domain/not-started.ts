// A create that failed before the provider started anything. Only this failure lets a row end without asking the provider,
// which may itself be unreachable.
import { ServiceError } from './errors.ts';

/** Carries the code, message and facts of the failure that caused it. */
export class NotStarted extends ServiceError {
  constructor(failure: ServiceError) {
    const { remedy, retryAfterMs, details, operatorMessage, status } = failure;
    super(failure.code, failure.message, {
      cause: failure,
      remedy,
      retryAfterMs,
      details,
      operatorMessage,
      status,
    });
  }
}

/** Marks `error`, unless it is a conflict (a runtime exists) or the reason of an abort. */
export function asNotStarted(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || !(error instanceof ServiceError) || error.code === 'conflict') return error;
  return error instanceof NotStarted ? error : new NotStarted(error);
}

/** Runs `work`, which comes before a create: whatever it throws becomes a NotStarted. */
export async function wrapNotStarted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw asNotStarted(error, signal);
  }
}
