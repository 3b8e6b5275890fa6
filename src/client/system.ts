// Calls about the service itself: health, providers, metrics.
import type { Diagnostics, MetricsBody } from '../schema/diagnostics.ts';
import type { PoolStatus } from '../schema/pool.ts';
import type { ProviderDetail, ProviderItem } from '../schema/provider.ts';
import type { LoginCode, SessionCreate } from '../schema/session.ts';
import type { Snapshot } from '../schema/snapshot.ts';
import type { Health, Live, Ready } from '../schema/system.ts';
import type { HeartbeatBody, Worker } from '../schema/worker.ts';
import { type CallTerms, readText } from './call.ts';
import { ClientPart } from './client-part.ts';

const MAX_TEXT_BYTES = 16 * 1024 * 1024;

export class SystemClient extends ClientPart {
  live(terms: CallTerms = {}): Promise<Live> {
    return this.call('live', { ...terms });
  }

  /** Throws `unavailable` while no provider is healthy. */
  ready(terms: CallTerms = {}): Promise<Ready> {
    return this.call('ready', { ...terms });
  }

  health(terms: CallTerms = {}): Promise<Health> {
    return this.call('health', { ...terms });
  }

  providers(terms: CallTerms = {}): Promise<ProviderItem[]> {
    return this.call('listProviders', { ...terms });
  }

  provider(name: string, terms: CallTerms = {}): Promise<ProviderDetail> {
    return this.call('getProvider', { params: { name }, ...terms });
  }

  /** A code that opens a session of the console once, within a minute, as `svc console` hands it to a browser. */
  loginCode(request: SessionCreate = {}, terms: CallTerms = {}): Promise<LoginCode> {
    return this.call('createLoginCode', { json: request, ...terms });
  }

  pool(terms: CallTerms = {}): Promise<PoolStatus> {
    return this.call('poolStatus', { ...terms });
  }

  /** Newest first. */
  snapshots(terms: CallTerms = {}): Promise<Snapshot[]> {
    return this.call('listSnapshots', { ...terms });
  }

  /** Metrics as JSON. */
  metrics(terms: CallTerms = {}): Promise<MetricsBody> {
    return this.call('metrics', { ...terms });
  }

  /** The metrics in the Prometheus text format. */
  async metricsText(terms: CallTerms = {}): Promise<string> {
    return readText(await this.send('metricsText', terms), { limit: MAX_TEXT_BYTES }, terms.signal);
  }

  diagnostics(terms: CallTerms = {}): Promise<Diagnostics> {
    return this.call('diagnostics', { ...terms });
  }
}

export class WorkersClient extends ClientPart {
  /** Sorted by id; `local` is the server itself. */
  list(terms: CallTerms = {}): Promise<Worker[]> {
    return this.call('listWorkers', { ...terms });
  }

  get(worker_id: string, terms: CallTerms = {}): Promise<Worker> {
    return this.call('getWorker', { params: { worker_id }, ...terms });
  }

  /** Stops assigning sandboxes to the worker; with `drain` false starts again. */
  drain(worker_id: string, drain = true, terms: CallTerms = {}): Promise<Worker> {
    return this.call('drainWorker', { params: { worker_id }, json: { drain }, ...terms });
  }

  /** Rejects with `conflict` for `local` and for a worker that has sandboxes. */
  async remove(worker_id: string, terms: CallTerms = {}): Promise<void> {
    await this.call('removeWorker', { params: { worker_id }, ...terms });
  }

  /** Overwrites the worker's status. */
  repair(worker_id: string, body: HeartbeatBody, terms: CallTerms = {}): Promise<Worker> {
    return this.call('repairWorker', { params: { worker_id }, json: body, ...terms });
  }
}
