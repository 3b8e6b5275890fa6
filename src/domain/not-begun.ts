// A create that failed before anything could come of it. It alone may end a row without asking the provider, which may be
// the very thing that is away.
import { ServiceError } from './errors.ts';

/** As the failure it stands for, which is its cause. */
export class NotBegun extends ServiceError {
  constructor(failure: ServiceError) {
    const { remedy, retryAfterMs, details, operatorMessage, status } = failure;
    super(failure.code, failure.message, {
      ...{ cause: failure, status },
      ...(remedy !== undefined && { remedy }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(details !== undefined && { details }),
      ...(operatorMessage !== undefined && { operatorMessage }),
    });
  }
}

/** `error` as one that says so. A conflict is left: it tells of a runtime that is there; so is the reason of an abort. */
export function notBegun(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || !(error instanceof ServiceError) || error.code === 'conflict') return error;
  return error instanceof NotBegun ? error : new NotBegun(error);
}

/** The value of `work`; whatever it throws was thrown before a create. */
export async function beforeBegun<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw notBegun(error, signal);
  }
}
