// This server as a worker: it registers at start and sends heartbeats as other workers do.
import type { Clock, Logger } from '../../domain/ports.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { HeartbeatBody } from '../../schema/worker.ts';
import type { WorkerStore } from '../../store/seam/workers.ts';
import { Periodic } from '../async/periodic.ts';
import type { WorkerTerms } from './worker-terms.ts';

export interface LocalWorkerDeps {
  workers: Pick<WorkerStore, 'heard'>;
  providers: ProviderSet;
  terms: Pick<WorkerTerms, 'heartbeatMs'>;
  host: { cpus: number; memoryMb?: number; hostname?: string };
  version: string;
  labels: Record<string, string>;
  clock: Clock;
  logger: Logger;
}

/** `start` resolves after the first heartbeat. A server without a provider sends none: it is not a worker. */
export function localWorker(deps: LocalWorkerDeps): Periodic {
  const { workers, providers, clock, logger, terms } = deps;
  const body = localHeartbeat(deps);
  return new Periodic(clock, terms.heartbeatMs, async () => {
    if (providers.all.length === 0) return;
    const now = new Date(clock.now()).toISOString();
    // The limit of workers never excludes this server.
    await workers
      .heard(LOCAL_WORKER, body, now, { most: Number.MAX_SAFE_INTEGER })
      .catch((error: unknown) =>
        logger.warn({ err: error }, 'Could not write the heartbeat of this server; retrying.'),
      );
  });
}

function localHeartbeat({ providers, host, version, labels }: LocalWorkerDeps): HeartbeatBody {
  const capabilities = new Set(providers.all.flatMap((provider) => provider.capabilities));
  return {
    hostname: host.hostname ?? '',
    status: 'online',
    version,
    labels,
    providers: providers.all.map(({ kind }) => kind),
    capabilities: [...capabilities].sort(),
    capacity: { max_sandboxes: 0, memory_mb: host.memoryMb ?? 0, vcpus: host.cpus },
  };
}
