// This server as a worker: it registers at start and sends heartbeats as other workers do.
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { HeartbeatBody } from '../../schema/worker.ts';
import type { WorkerStore } from '../../store/seam/workers.ts';
import type { WorkerTerms } from './worker-terms.ts';

export interface LocalWorkerDeps {
  workers: Pick<WorkerStore, 'heard'>;
  providers: ProviderSet;
  terms: Pick<WorkerTerms, 'heartbeatMs'>;
  host: { cpus: number; memoryMb?: number; hostname?: string };
  version: string;
  clock: Clock;
  logger: Logger;
}

export class LocalWorker {
  readonly #deps: LocalWorkerDeps;
  readonly #body: HeartbeatBody;
  #timer: Timer | undefined;
  #beating: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: LocalWorkerDeps) {
    this.#deps = deps;
    this.#body = localHeartbeat(deps);
  }

  /** Resolves after the first heartbeat; never rejects. */
  start(): Promise<void> {
    this.#beating = this.#beat().finally(() => this.#again());
    return this.#beating;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#beating;
  }

  #again(): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.after(this.#deps.terms.heartbeatMs, () => void this.start());
  }

  /** The limit of workers never excludes this server. */
  async #beat(): Promise<void> {
    const { workers, clock, logger } = this.#deps;
    try {
      await workers.heard(
        LOCAL_WORKER,
        this.#body,
        new Date(clock.now()).toISOString(),
        Number.MAX_SAFE_INTEGER,
      );
    } catch (error) {
      logger.warn({ err: error }, 'Could not write the heartbeat of this server; retrying.');
    }
  }
}

function localHeartbeat({ providers, host, version }: LocalWorkerDeps): HeartbeatBody {
  const capabilities = new Set(providers.all.flatMap((provider) => provider.capabilities));
  return {
    hostname: host.hostname ?? '',
    status: 'online',
    version,
    providers: providers.all.map(({ kind }) => kind),
    capabilities: [...capabilities].sort(),
    capacity: { max_sandboxes: 0, memory_mb: host.memoryMb ?? 0, vcpus: host.cpus },
  };
}
