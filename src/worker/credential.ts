// The worker's credential: makes tokens for the control plane and verifies tokens and leases from it.
import { ServiceError } from '../domain/errors.ts';
import { isLeaseSignedWith, leaseFault } from '../domain/lease.ts';
import type { Clock, Ids } from '../domain/ports.ts';
import { identifyWorker, type PresentedWorker } from '../domain/worker-access.ts';
import { isWorkerId, LOCAL_WORKER } from '../domain/worker-id.ts';
import { isOwnSecret, type WorkerAuth, workerSecrets } from '../domain/worker-secret.ts';
import { freshToken, parseWorkerToken } from '../domain/worker-token.ts';
import type { Lease } from '../schema/lease.ts';

export interface WorkerCredential {
  /** True for a token that somebody signed for this worker: enough to call, not enough to be called. */
  readonly isReadyMade: boolean;
  /** True for a secret that this worker made itself: its heartbeats hand it over, on this machine only. */
  readonly isOwn: boolean;
  /** The value of X-Worker-Token. */
  token(): string;
  /** Throws `unauthorized`, or `forbidden` for another worker, unless the caller is the control plane. */
  requireCaller(presented: PresentedWorker): void;
  /** Throws `forbidden` if the lease on `resource_id` is invalid. `seen` is the highest known generation. */
  requireLease(lease: Lease, terms: { resource_id: string; seen: number }): void;
}

/** Throws `bad_request` if the credential does not allow calls to a worker that accepts calls. */
export function requireCallable({ isReadyMade }: Pick<WorkerCredential, 'isReadyMade'>): void {
  if (isReadyMade)
    throw new ServiceError('bad_request', 'A signed token is not enough to accept calls.', {
      remedy: "Set --worker-token to the worker's secret, which svc worker token create prints.",
    });
}

/** Throws `bad_request` for an invalid id, or if `auth` has no credential for it. */
export function workerCredential(
  auth: WorkerAuth,
  id: string,
  { clock, ids }: { clock: Clock; ids: Ids },
): WorkerCredential {
  requireWorkerId(id);
  const secrets = workerSecrets(auth, id).map(({ secret }) => secret);
  const [current] = secrets;
  if (current === undefined)
    throw new ServiceError('bad_request', 'This worker has no credential.', {
      remedy: 'Set --worker-token or auth.worker_token; svc worker token create makes one.',
    });
  const isReadyMade = parseWorkerToken(current) !== undefined;
  const isOwn = isOwnSecret(current);
  const fresh = () =>
    freshToken(current, { worker_id: id, aud: 'worker:control-plane', jti: ids.uuid(), now: clock.now() });
  return {
    isReadyMade,
    isOwn,
    token: () => (isReadyMade || isOwn ? current : fresh()),
    requireCaller: (presented) => {
      if (presented.worker_id !== undefined && presented.worker_id !== id) throw otherWorker();
      identifyWorker(auth, presented, { aud: 'worker:rpc', now: clock.now() });
    },
    requireLease: (lease, { resource_id, seen }) => {
      const secret = secrets.find((each) => isLeaseSignedWith(each, lease)) ?? current;
      const fault = leaseFault(lease, { resource_id, seen, secret, holder_id: id, now: clock.now() });
      if (fault !== undefined) throw new ServiceError('forbidden', fault);
    },
  };
}

export function otherWorker(): ServiceError {
  return new ServiceError('forbidden', 'This is another worker.');
}

/** Throws `bad_request` for an id that no worker can have. */
export function requireWorkerId(id: string): void {
  if (isWorkerId(id) && id !== LOCAL_WORKER) return;
  throw new ServiceError('bad_request', `${JSON.stringify(id.slice(0, 64))} cannot be the id of a worker.`, {
    remedy: 'Use at most 128 letters, digits and . _ - (not local), and set it with --id.',
  });
}
