// The workers of this control plane, put together: who they are, what they may run, and how they are called.
import { parseDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { ProviderSet, RemoteProviders, RemoteWorker } from '../../providers/provider.ts';
import type { Config } from '../../schema/config.ts';
import type { WorkerRecord } from '../../store/seam/workers.ts';
import type { Store } from '../../store/store.ts';
import type { Workers } from '../plane/workers.ts';
import { Leases } from './leases.ts';
import { LocalWorker } from './local-worker.ts';
import { workerRegistry } from './registry.ts';
import { WorkerSecrets } from './worker-secrets.ts';
import { type WorkerStats, workerStats } from './worker-stats.ts';
import { type WorkerTerms, workerTerms } from './worker-terms.ts';

const SHUTDOWN_MS = 2000;

export interface FleetDeps {
  config: Pick<Config, 'auth' | 'worker'>;
  store: Pick<Store, 'workers' | 'leases' | 'sandboxes'>;
  providers: ProviderSet;
  remote?: RemoteProviders | undefined;
  host: { cpus: number; memoryMb?: number; hostname?: string };
  version: string;
  clock: Clock;
  logger: Logger;
}

export interface Fleet {
  terms: WorkerTerms;
  leases: Leases;
  local: LocalWorker;
  stats: WorkerStats;
  /** As it is called; undefined where nothing here calls workers, or this one cannot be. */
  callee(worker: Pick<WorkerRecord, 'id' | 'rpc_url'>): RemoteWorker | undefined;
  /** `roomChanged` is told whenever there may be more room than before. */
  registry(roomChanged: () => void): Workers;
}

export function fleetOf(deps: FleetDeps): Fleet {
  const { config, store, remote, clock } = deps;
  const terms = workerTerms(parseDuration(config.worker.heartbeat_interval, 'worker.heartbeat_interval'));
  const secrets = new WorkerSecrets(config.auth);
  const leases = new Leases({ leases: store.leases, sandboxes: store.sandboxes, secrets, terms, clock });
  const given = { ...deps, workers: store.workers, leases, secrets, terms };
  const callee = ({ id, rpc_url }: Pick<WorkerRecord, 'id' | 'rpc_url'>) =>
    remote && rpc_url !== undefined ? { id, rpc_url, secret: secrets.of(id) } : undefined;
  return {
    ...{ terms, leases, callee },
    local: new LocalWorker(given),
    stats: workerStats(given),
    registry: (roomChanged) =>
      workerRegistry({ ...given, roomChanged, shutdown: (worker) => shutdown(remote, callee(worker)) }),
  };

  async function shutdown(by: RemoteProviders | undefined, worker: RemoteWorker | undefined) {
    if (!by || !worker) throw new ServiceError('unavailable', 'The worker cannot be called.');
    const late = new AbortController();
    const timer = clock.after(SHUTDOWN_MS, () => late.abort(new ServiceError('timeout', 'It is slow.')));
    await by.shutdown(worker, late.signal).finally(() => timer.cancel());
  }
}
