// The workers of this control plane: who they are, what they may run, and how they are called.
import { formatDuration, parseDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import { allowsLoopbackRpc } from '../../domain/loopback.ts';
import type { PlacementLimits } from '../../domain/placement.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import type { ProviderSet, RemoteProviders, RemoteWorker } from '../../providers/provider.ts';
import type { Config } from '../../schema/config.ts';
import type { WorkerRecord } from '../../store/seam/workers.ts';
import type { SandboxRecord, Store } from '../../store/store.ts';
import type { Workers } from '../api/workers.ts';
import type { Periodic } from '../async/periodic.ts';
import { Abilities } from './abilities.ts';
import { Leases } from './leases.ts';
import { localWorker } from './local-worker.ts';
import { type RegistryDeps, workerRegistry } from './registry.ts';
import { WorkerSecrets } from './worker-secrets.ts';
import { type WorkerStats, workerStats } from './worker-stats.ts';
import { isStale, type WorkerTerms, workerTerms } from './worker-terms.ts';

const AGAIN = { remedy: 'Try again.', retryAfterMs: 1000 };
/** The limit for a call that only speeds things up. */
const CALL_MS = 2000;

export interface FleetDeps {
  config: LiveConfig<Pick<Config, 'auth' | 'server' | 'worker'>>;
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
  /** The heartbeats of this server. */
  local: Periodic;
  stats: WorkerStats;
  abilities: Abilities;
  /** The address of a worker; undefined where this server calls no workers, or cannot call this one. */
  callee(worker: Pick<WorkerRecord, 'id' | 'rpc_url'>): RemoteWorker | undefined;
  /** Where a sandbox may run now; `local`: this server could run it, `remote`: other workers could. */
  placement(
    where: Pick<PlacementLimits, 'local' | 'remote' | 'sessions' | 'demand' | 'images'>,
  ): PlacementLimits;
  /** The providers of workers that can be called. */
  offered(): Promise<ReadonlySet<string>>;
  /** How many other workers accept sandboxes now. Reads the store. */
  accepting(): Promise<number>;
  /** Makes the worker of the row renew its lease and apply its deadline. */
  renew(row: Pick<SandboxRecord, 'id' | 'worker_id' | 'expires_at'>): Promise<void>;
  registry(changes: Pick<RegistryDeps, 'roomChanged' | 'drained'>): Workers;
}

export function fleetOf(deps: FleetDeps): Fleet {
  const { config, store, remote, clock } = deps;
  const { heartbeat_interval, labels } = config.current().worker;
  const terms = workerTerms(parseDuration(heartbeat_interval, 'worker.heartbeat_interval'));
  const secrets = new WorkerSecrets(config, clock);
  const leases = new Leases({ leases: store.leases, sandboxes: store.sandboxes, secrets, terms, clock });
  const given = { ...deps, workers: store.workers, leases, secrets, terms };
  const callee = ({ id, rpc_url }: Pick<WorkerRecord, 'id' | 'rpc_url'>) =>
    remote && rpc_url !== undefined ? { id, rpc_url, secret: secrets.of(id) } : undefined;
  const abilities = new Abilities(store.workers);
  return {
    terms,
    leases,
    callee,
    abilities,
    local: localWorker({ ...given, labels }),
    stats: workerStats(given),
    placement: ({ local, remote: others, sessions, demand, images }) => ({
      local,
      sessions,
      demand,
      images,
      remote: others && remote !== undefined,
      lease_until: leases.until(),
      heartbeat_after: new Date(clock.now() - terms.staleMs).toISOString(),
    }),
    offered: async () => {
      const workers = remote === undefined ? [] : await store.workers.list();
      return new Set(workers.flatMap(({ rpc_url, providers }) => (rpc_url === undefined ? [] : providers)));
    },
    accepting: async () => {
      const workers = remote === undefined ? [] : await store.workers.list();
      const accepts = ({ rpc_url, providers, status, drain, ...worker }: WorkerRecord) =>
        rpc_url !== undefined &&
        providers.length > 0 &&
        status === 'online' &&
        !drain &&
        !isStale(worker, terms, clock.now());
      return workers.filter(accepts).length;
    },
    renew,
    registry: (changes) =>
      workerRegistry({
        ...given,
        ...changes,
        abilities,
        allowLoopback: allowsLoopbackRpc(config.current()),
        shutdown: (worker) => shutdown(remote, callee(worker)),
      }),
  };

  async function renew({ id, worker_id, expires_at }: Parameters<Fleet['renew']>[0]): Promise<void> {
    await inTime(clock, async (signal) => {
      const worker = await store.workers.get(worker_id);
      const callable = worker && callee(worker);
      if (!remote || !callable) return;
      const left = formatDuration(Math.max(0, Date.parse(expires_at) - clock.now()));
      await leases.present(id, async (lease) => lease && remote.renew(callable, lease, left, signal));
    });
  }

  async function shutdown(by: RemoteProviders | undefined, worker: RemoteWorker | undefined) {
    if (!by || !worker) throw new ServiceError('unavailable', 'The worker cannot be called.');
    await inTime(clock, (signal) => by.shutdown(worker, signal));
  }
}

function inTime(clock: Clock, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const error = () => new ServiceError('unavailable', 'The worker did not answer in time.', AGAIN);
  return withTimeout({ clock, ms: CALL_MS, error }, work);
}
