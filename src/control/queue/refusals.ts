// Refusals of spawns that wait for capacity, or would.
import type { AdmissionDecision } from '../../domain/admission.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { fromPlain, type PlainFailure, toPlain } from '../../domain/plain-error.ts';
import { ttlRefused } from '../../domain/ttl.ts';

const RETRY_MS = 1000;

export function queueFull(most: number): ServiceError {
  return new ServiceError('resource_limit', `All capacity is in use and ${most} spawns are already queued.`, {
    remedy: 'Try again later.',
    retryAfterMs: RETRY_MS,
    details: { reason: 'queue_full', max_spawn_queue: most },
  });
}

/** For a spawn of the owner that had most of the queue. */
export function crowdedOut(most: number): ServiceError {
  return new ServiceError('resource_limit', 'The queue is full and this owner holds more than its share.', {
    remedy: 'Queue fewer spawns at once.',
    retryAfterMs: RETRY_MS,
    details: { reason: 'queue_full', max_spawn_queue: most },
  });
}

export function waitedTooLong(wait_ms: number): ServiceError {
  return new ServiceError('resource_limit', 'No capacity became free before the queue timeout.', {
    remedy: 'Try again later.',
    retryAfterMs: RETRY_MS,
    details: { reason: 'queue_timeout', wait_ms },
  });
}

export function stopping(): ServiceError {
  return new ServiceError('unavailable', 'The server is stopping.', { retryAfterMs: 5000 });
}

/** A spawn was not admitted and does not wait. */
export function admissionRefused(decision: AdmissionDecision): ServiceError {
  const { reason, message = 'The sandbox was not admitted.', active_sandboxes, max_sandboxes } = decision;
  const { active_owner_sandboxes, max_owner_sandboxes, maxTtlMs } = decision;
  if (reason === 'max_ttl') return ttlRefused(maxTtlMs);
  const ofOwner = reason === 'max_sandboxes_per_owner' && { active_owner_sandboxes, max_owner_sandboxes };
  if (reason === 'worker_mismatch')
    return new ServiceError('precondition_failed', message, {
      remedy: 'Change or omit worker_id and worker_labels. List workers to see their providers and labels.',
      details: { reason },
    });
  const isLost = reason === 'worker_unavailable';
  return new ServiceError(isLost || reason === 'pool_full' ? 'unavailable' : 'resource_limit', message, {
    remedy: isLost
      ? 'Check the lists of workers and providers.'
      : 'Destroy a sandbox that is no longer needed, or try again later.',
    details: { reason, active_sandboxes, max_sandboxes, ...ofOwner },
  });
}

/** The public part of an error, for another process. */
export function errorJson(error: unknown): string {
  const { facts, ...plain } = toPlain(asServiceError(error));
  const { cause: _, ...shown } = facts;
  return JSON.stringify({ ...plain, facts: shown });
}

/** The error that `errorJson` was given. */
export function errorFromJson(json: string): ServiceError {
  return fromPlain(JSON.parse(json) as PlainFailure);
}

/** Another server has the ticket, or took this one for dead. */
export function positionLost(): ServiceError {
  return new ServiceError('unavailable', 'This spawn lost its position in the queue.', {
    remedy: 'Try again.',
    retryAfterMs: 1000,
  });
}

export function keyEnded(): ServiceError {
  return new ServiceError('unavailable', 'The first request with this Idempotency-Key has just ended.', {
    remedy: 'Try again in a moment.',
    retryAfterMs: 1000,
  });
}
