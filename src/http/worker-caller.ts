// Who calls as a worker: X-Worker-ID and X-Worker-Token, on routes of workers alone. No API key opens these, and no
// credential of a worker opens another. Refused ones count as failed tries of their address.
import type { IncomingHttpHeaders } from 'node:http';
import { asServiceError, ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { identifyWorker, type WorkerIdentity } from '../domain/worker-access.ts';
import type { WorkerAuth } from '../domain/worker-secret.ts';
import { HEARTBEAT_SCOPE } from '../domain/worker-token.ts';
import type { Origin, RateLimiter } from './rate-limit.ts';

/** `path_id` is the worker that the path names. */
export type AuthenticateWorker = (
  headers: IncomingHttpHeaders,
  path_id: unknown,
  origin: Origin,
) => WorkerIdentity;

/**
 * Throws `unavailable` where no credential of workers is configured, `resource_limit` after too many failures from this
 * address, `unauthorized` for a credential that does not hold, `forbidden` for that of another worker and for one without
 * the scope.
 */
export function workerAuthenticator(
  auth: WorkerAuth,
  limiter: RateLimiter,
  clock: Clock,
): AuthenticateWorker {
  return (headers, path_id, origin) => {
    const blocked = limiter.blocked(origin);
    if (blocked) throw blocked;
    const presented = { worker_id: text(headers['x-worker-id']), token: text(headers['x-worker-token']) };
    const identity = proved(() =>
      identifyWorker(auth, presented, { aud: 'worker:control-plane', now: clock.now() }),
    );
    if (identity.worker_id !== path_id)
      throw new ServiceError('forbidden', 'The path names another worker.', {
        remedy: 'Use the worker id of the token in the path.',
      });
    if (!identity.scopes.includes(HEARTBEAT_SCOPE))
      throw new ServiceError('forbidden', `The token lacks the scope ${HEARTBEAT_SCOPE}.`);
    return identity;

    function proved(identify: () => WorkerIdentity): WorkerIdentity {
      try {
        return identify();
      } catch (error) {
        if (asServiceError(error).code !== 'unavailable') limiter.failed(origin);
        throw error;
      }
    }
  };
}

const text = (header: string | string[] | undefined) => (Array.isArray(header) ? header.join(',') : header);
