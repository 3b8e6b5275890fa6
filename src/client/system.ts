// Calls about the service itself: health, providers, metrics.
import type { Diagnostics, MetricsBody } from '../schema/diagnostics.ts';
import type { PoolStatus } from '../schema/pool.ts';
import type { ProviderDetail, ProviderItem } from '../schema/provider.ts';
import type { Snapshot } from '../schema/snapshot.ts';
import type { Health, Live, Ready } from '../schema/system.ts';
import type { HeartbeatBody, Worker } from '../schema/worker.ts';
import type { CallTerms } from './call.ts';
import { ClientPart } from './client-part.ts';

export class SystemClient extends ClientPart {
  live({ signal }: CallTerms = {}): Promise<Live> {
    return this.call('live', { signal });
  }

  /** Throws `unavailable` while no provider is healthy. */
  ready({ signal }: CallTerms = {}): Promise<Ready> {
    return this.call('ready', { signal });
  }

  health({ signal }: CallTerms = {}): Promise<Health> {
    return this.call('health', { signal });
  }

  providers({ signal }: CallTerms = {}): Promise<ProviderItem[]> {
    return this.call('listProviders', { signal });
  }

  provider(name: string, { signal }: CallTerms = {}): Promise<ProviderDetail> {
    return this.call('getProvider', { params: { name }, signal });
  }

  pool({ signal }: CallTerms = {}): Promise<PoolStatus> {
    return this.call('poolStatus', { signal });
  }

  /** Newest first. */
  snapshots({ signal }: CallTerms = {}): Promise<Snapshot[]> {
    return this.call('listSnapshots', { signal });
  }

  /** Metrics as JSON. */
  metrics({ signal }: CallTerms = {}): Promise<MetricsBody> {
    return this.call('metrics', { signal });
  }

  diagnostics({ signal }: CallTerms = {}): Promise<Diagnostics> {
    return this.call('diagnostics', { signal });
  }
}

export class WorkersClient extends ClientPart {
  /** Sorted by id; `local` is the server itself. */
  list({ signal }: CallTerms = {}): Promise<Worker[]> {
    return this.call('listWorkers', { signal });
  }

  get(worker_id: string, { signal }: CallTerms = {}): Promise<Worker> {
    return this.call('getWorker', { params: { worker_id }, signal });
  }

  /** Stops assigning sandboxes to the worker; with `drain` false starts again. */
  drain(worker_id: string, drain = true, { signal }: CallTerms = {}): Promise<Worker> {
    return this.call('drainWorker', { params: { worker_id }, json: { drain }, signal });
  }

  /** Rejects with `conflict` for `local` and for a worker that has sandboxes. */
  async remove(worker_id: string, { signal }: CallTerms = {}): Promise<void> {
    await this.call('removeWorker', { params: { worker_id }, signal });
  }

  /** Overwrites the worker's status. */
  repair(worker_id: string, body: HeartbeatBody, { signal }: CallTerms = {}): Promise<Worker> {
    return this.call('repairWorker', { params: { worker_id }, json: body, signal });
  }
}
