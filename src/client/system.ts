// What the client asks about the service itself: its health, its providers, its numbers.
import type { Diagnostics, MetricsBody } from '../schema/diagnostics.ts';
import type { PoolStatus } from '../schema/pool.ts';
import type { ProviderDetail, ProviderItem } from '../schema/provider.ts';
import type { Snapshot } from '../schema/snapshot.ts';
import type { Health, Live, Ready } from '../schema/system.ts';
import { type Connection, sendForJson } from './call.ts';

export class SystemClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  live(): Promise<Live> {
    return sendForJson(this.#connection, 'live');
  }

  /** Throws `unavailable` while no provider is healthy. */
  ready(): Promise<Ready> {
    return sendForJson(this.#connection, 'ready');
  }

  health(): Promise<Health> {
    return sendForJson(this.#connection, 'health');
  }

  providers(): Promise<ProviderItem[]> {
    return sendForJson(this.#connection, 'listProviders');
  }

  provider(name: string): Promise<ProviderDetail> {
    return sendForJson(this.#connection, 'getProvider', { params: { name } });
  }

  pool(): Promise<PoolStatus> {
    return sendForJson(this.#connection, 'poolStatus');
  }

  /** The newest first. */
  snapshots(): Promise<Snapshot[]> {
    return sendForJson(this.#connection, 'listSnapshots');
  }

  /** Numbers as JSON. */
  metrics(): Promise<MetricsBody> {
    return sendForJson(this.#connection, 'metrics');
  }

  diagnostics(): Promise<Diagnostics> {
    return sendForJson(this.#connection, 'diagnostics');
  }
}
