// What one hears who waits for a place, or would, and gets none.
import { ServiceError } from '../../domain/errors.ts';

const RETRY_MS = 1000;

export function queueFull(most: number): ServiceError {
  return new ServiceError('resource_limit', `All places are in use and ${most} spawns wait already.`, {
    remedy: 'Try again later.',
    retryAfterMs: RETRY_MS,
    details: { reason: 'queue_full', max_spawn_queue: most },
  });
}

/** To one of the owner that had most of the queue. */
export function gaveWay(most: number): ServiceError {
  return new ServiceError(
    'resource_limit',
    'The queue is full, and this owner has more than its share of it.',
    {
      remedy: 'Wait with fewer spawns at once.',
      retryAfterMs: RETRY_MS,
      details: { reason: 'queue_full', max_spawn_queue: most },
    },
  );
}

export function waitedTooLong(wait_ms: number): ServiceError {
  return new ServiceError('resource_limit', 'No place became free in time.', {
    remedy: 'Try again later.',
    retryAfterMs: RETRY_MS,
    details: { reason: 'queue_timeout', wait_ms },
  });
}

export function stopping(): ServiceError {
  return new ServiceError('unavailable', 'The server is stopping.', { retryAfterMs: 5000 });
}
