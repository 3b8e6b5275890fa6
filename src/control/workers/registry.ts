// The registry of workers, this server included: heartbeats, views, draining, removal. The request to drain is stored
// here, the status comes from the worker; neither overwrites the other.
import { ServiceError } from '../../domain/errors.ts';
import { hostFault, namesLoopback } from '../../domain/outgoing-address.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { RateVerdict } from '../../domain/rate.ts';
import { RateBuckets } from '../../domain/rate-buckets.ts';
import type { WorkerIdentity } from '../../domain/worker-access.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import { secretPrint } from '../../domain/worker-secret.ts';
import type { HeartbeatBody, Worker } from '../../schema/worker.ts';
import type { SecretClaim, WorkerRecord, WorkerStore } from '../../store/seam/workers.ts';
import type { Workers } from '../api/workers.ts';
import type { Abilities } from './abilities.ts';
import type { Leases } from './leases.ts';
import type { WorkerSecrets } from './worker-secrets.ts';
import { isStale, type WorkerTerms } from './worker-terms.ts';

/** Heartbeats with a shared token could otherwise fill the table. */
const MOST_WORKERS = 10_000;
/** A heartbeat is a durable write. A worker sends one a second, and some more when it starts, drains or is repaired. */
const PACE = { burst: 10, refillMs: 500, max: MOST_WORKERS, ttlMs: 0 };

export interface RegistryDeps {
  workers: WorkerStore;
  leases: Leases;
  secrets: WorkerSecrets;
  terms: WorkerTerms;
  clock: Clock;
  logger: Logger;
  /** `worker.allow_loopback_rpc` */
  allowLoopback: boolean;
  /** Asks a worker to accept no more sandboxes; rejects when it cannot be called. */
  shutdown(worker: WorkerRecord): Promise<void>;
  /** Called when capacity may have increased. */
  roomChanged(): void;
  /** Called when a worker accepts no more sandboxes. */
  drained(): void;
  abilities: Pick<Abilities, 'learn' | 'forget'>;
}

export function workerRegistry(deps: RegistryDeps): Workers {
  const { workers, leases, secrets, roomChanged, abilities } = deps;
  const now = () => new Date(deps.clock.now()).toISOString();
  const shown = (worker: WorkerRecord) => workerView(worker, deps);
  const hear = heartbeatsOf(deps);
  return {
    list: async () => (await workers.list()).map(shown),
    get: async (id) => shown((await workers.get(id)) ?? unknown()),
    heartbeat: async (...heartbeat) => shown(await hear(...heartbeat)),
    drain: async (id, drain) => {
      const worker = (await workers.drain(id, drain, now())) ?? unknown();
      if (drain) deps.drained();
      else roomChanged();
      if (drain && id !== LOCAL_WORKER) await notify(deps, worker);
      return shown(worker);
    },
    remove: async (id) => {
      if (id === LOCAL_WORKER) throw thisServer('Drain it to keep sandboxes away.');
      const outcome = await workers.remove(id);
      if (outcome === 'absent') throw unknown();
      if (outcome === 'busy')
        throw new ServiceError('conflict', 'The worker holds sandboxes.', {
          remedy: 'Drain it, and remove it when they have ended.',
        });
      secrets.forget(id);
      abilities.forget(id);
    },
    renew: async (identity, resource_id, ttl) => {
      if (identity.isHandedOver) secrets.requireHandedOver(identity);
      else secrets.proved(identity.worker_id, identity.secret);
      return leases.renew(identity, resource_id, ttl);
    },
  };
}

function heartbeatsOf(deps: RegistryDeps) {
  const { workers, secrets, clock } = deps;
  const paces = new RateBuckets(PACE);
  return async (id: string, body: HeartbeatBody, identity?: WorkerIdentity): Promise<WorkerRecord> => {
    if (id === LOCAL_WORKER) throw thisServer('It sends its own heartbeats.');
    const claim = identity?.isHandedOver && claimOf(identity, deps);
    // A worker with another secret must not use up the pace of the one that has the id.
    if (identity) refuseHaste(paces.take(claim ? `${id} ${claim.secret_print}` : id, clock.monotonic()));
    requireCallable(body.rpc_url, deps.allowLoopback);
    if (claim || secrets.isOwn(id)) requireThisMachine(body.rpc_url ?? (await workers.get(id))?.rpc_url);
    const at = new Date(clock.now()).toISOString();
    const worker = await workers.heard(id, body, at, { most: MOST_WORKERS, ...(claim && { claim }) });
    if (identity?.isHandedOver) secrets.handedOver(identity);
    else if (identity) secrets.proved(id, identity.secret);
    deps.abilities.learn([worker]);
    deps.roomChanged();
    return worker;
  };
}

/** The id is free for another secret once no lease of the worker that had it can hold any more. */
function claimOf(identity: WorkerIdentity, { secrets, terms, clock }: RegistryDeps): SecretClaim {
  secrets.refuseOther(identity, terms.leaseMs);
  return {
    secret_print: secretPrint(identity.secret),
    silent_since: new Date(clock.now() - terms.leaseMs).toISOString(),
  };
}

/** A worker that cannot be called now gets the request with the answer to its next heartbeat. */
async function notify({ shutdown, logger }: RegistryDeps, worker: WorkerRecord): Promise<void> {
  try {
    await shutdown(worker);
  } catch (error) {
    logger.info(
      { worker_id: worker.id, err: error },
      'Could not notify a worker to drain; its next heartbeat does.',
    );
  }
}

/** A worker that has not received the request to drain counts as draining already: it gets no more sandboxes. */
function workerView(record: WorkerRecord, { terms, clock }: RegistryDeps): Worker {
  const status = record.drain && record.status === 'online' ? 'draining' : record.status;
  const { capacity, active_sandboxes } = record;
  const free = capacity.max_sandboxes > 0 && {
    free_sandboxes: Math.max(0, capacity.max_sandboxes - active_sandboxes),
  };
  return { ...record, ...free, status, stale: isStale(record, terms, clock.now()) };
}

/** Administrators who repair a worker are not limited. */
function refuseHaste({ allowed, retryAfterMs }: RateVerdict): void {
  if (allowed) return;
  throw new ServiceError('resource_limit', 'The worker sends heartbeats too fast.', {
    remedy: 'Send one per worker.heartbeat_interval. The limit is two a second, with bursts of ten.',
    retryAfterMs,
  });
}

/** Refused with the heartbeat, not with the first sandbox for this worker. */
function requireCallable(rpc_url: string | undefined, allowLoopback: boolean): void {
  if (!rpc_url) return;
  const fault = !URL.canParse(rpc_url)
    ? 'not a URL'
    : hostFault(new URL(rpc_url).hostname.replace(/^\[|\]$/g, ''), allowLoopback);
  if (fault === undefined) return;
  throw new ServiceError('bad_request', `rpc_url is ${fault}.`, {
    remedy:
      'Start the worker with --advertise, the URL at which this server reaches it. A worker on the same machine needs worker.allow_loopback_rpc here.',
  });
}

/** A secret that nobody configured leaves this machine neither with a heartbeat nor with a call. */
function requireThisMachine(rpc_url: string | undefined): void {
  if (!rpc_url || namesLoopback(new URL(rpc_url))) return;
  throw new ServiceError(
    'bad_request',
    'rpc_url must be a loopback address for a worker without a credential.',
    {
      remedy:
        'Start the worker with --listen 127.0.0.1:0, or configure a credential: svc worker token create makes one.',
    },
  );
}

function unknown(): never {
  throw new ServiceError('not_found', 'There is no such worker.', {
    remedy: 'List workers to see the current ones. A worker appears with its first heartbeat.',
  });
}

function thisServer(remedy: string): ServiceError {
  return new ServiceError('conflict', 'local is this server itself.', { remedy });
}
