// Who calls as a worker: X-Worker-ID and X-Worker-Token, on routes of workers alone. No API key opens these, and no
// credential of a worker opens another. Refused ones count as failed tries of their address.
import type { IncomingHttpHeaders } from 'node:http';
import { asServiceError, ServiceError } from '../domain/errors.ts';
import { isLoopbackHost } from '../domain/loopback.ts';
import type { Clock } from '../domain/ports.ts';
import { handedOver, identifyWorker, type WorkerIdentity } from '../domain/worker-access.ts';
import { knowsWorkers, type WorkerAuth } from '../domain/worker-secret.ts';
import { HEARTBEAT_SCOPE } from '../domain/worker-token.ts';
import type { Origin, RateLimiter } from './rate-limit.ts';

/** `path_id` is the worker that the path names. */
export type AuthenticateWorker = (
  headers: IncomingHttpHeaders,
  path_id: unknown,
  origin: Origin,
) => WorkerIdentity;

/** Headers of a proxy: the caller behind it may be on another machine. */
const OF_PROXIES = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'];

export interface WorkerCallerOptions {
  auth: WorkerAuth;
  /** True if only this machine can call the server. Its workers may then hand over secrets of their own. */
  onlyThisMachine: boolean;
  limiter: RateLimiter;
  clock: Clock;
}

/**
 * Throws `unavailable` where no credential of workers is configured, `resource_limit` after too many failures from this
 * address, `unauthorized` for a credential that does not hold, `forbidden` for that of another worker and for one without
 * the scope.
 */
export function workerAuthenticator(options: WorkerCallerOptions): AuthenticateWorker {
  const { auth, limiter, clock } = options;
  const takesOwn = options.onlyThisMachine && !knowsWorkers(auth);
  const isNear = (headers: IncomingHttpHeaders, { address }: Origin) =>
    isLoopbackHost(address) && OF_PROXIES.every((name) => headers[name] === undefined);
  return (headers, path_id, origin) => {
    const blocked = limiter.blocked(origin);
    if (blocked) throw blocked;
    const presented = { worker_id: text(headers['x-worker-id']), token: text(headers['x-worker-token']) };
    const own = takesOwn && isNear(headers, origin) ? handedOver(presented) : undefined;
    const identity = proved(
      () => own ?? identifyWorker(auth, presented, { aud: 'worker:control-plane', now: clock.now() }),
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
