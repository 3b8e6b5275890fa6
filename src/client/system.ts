// Calls about the service itself: health, providers, metrics.
import type { Diagnostics, MetricsBody } from '../schema/diagnostics.ts';
import type { PoolStatus } from '../schema/pool.ts';
import type { ProviderDetail, ProviderItem } from '../schema/provider.ts';
import type { Snapshot } from '../schema/snapshot.ts';
import type { Health, Live, Ready } from '../schema/system.ts';
import { type CallTerms, type Connection, sendForJson } from './call.ts';

export class SystemClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  live({ signal }: CallTerms = {}): Promise<Live> {
    return sendForJson(this.#connection, 'live', { signal });
  }

  /** Throws `unavailable` while no provider is healthy. */
  ready({ signal }: CallTerms = {}): Promise<Ready> {
    return sendForJson(this.#connection, 'ready', { signal });
  }

  health({ signal }: CallTerms = {}): Promise<Health> {
    return sendForJson(this.#connection, 'health', { signal });
  }

  providers({ signal }: CallTerms = {}): Promise<ProviderItem[]> {
    return sendForJson(this.#connection, 'listProviders', { signal });
  }

  provider(name: string, { signal }: CallTerms = {}): Promise<ProviderDetail> {
    return sendForJson(this.#connection, 'getProvider', { params: { name }, signal });
  }

  pool({ signal }: CallTerms = {}): Promise<PoolStatus> {
    return sendForJson(this.#connection, 'poolStatus', { signal });
  }

  /** Newest first. */
  snapshots({ signal }: CallTerms = {}): Promise<Snapshot[]> {
    return sendForJson(this.#connection, 'listSnapshots', { signal });
  }

  /** Metrics as JSON. */
  metrics({ signal }: CallTerms = {}): Promise<MetricsBody> {
    return sendForJson(this.#connection, 'metrics', { signal });
  }

  diagnostics({ signal }: CallTerms = {}): Promise<Diagnostics> {
    return sendForJson(this.#connection, 'diagnostics', { signal });
  }
}
