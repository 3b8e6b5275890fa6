// What the control plane reports about itself: providers, the pool, metrics, health.
import type { Diagnostics, MetricsBody } from '../../schema/diagnostics.ts';
import type { PoolStatus } from '../../schema/pool.ts';
import type { ProviderDetail, ProviderItem, ProviderTests } from '../../schema/provider.ts';
import type { Snapshot } from '../../schema/snapshot.ts';
import type { Health, Live, Ready } from '../../schema/system.ts';

export interface ProviderViews {
  /** `full` includes paths on the host, for administrators. */
  list(full?: boolean): Promise<ProviderItem[]>;
  /** Checks all providers now and returns the results by name. */
  test(): Promise<ProviderTests>;
  get(name: string, full?: boolean): Promise<ProviderDetail>;
}

export interface AnsweredRequest {
  /** A route's id, or `none`. */
  route: string;
  method: string;
  status: string;
  seconds: number;
}

export interface MetricViews {
  /** Counts a request that was answered. */
  request(answered: AnsweredRequest): void;
  body(): Promise<MetricsBody>;
  /** The Prometheus text format, with its media type. */
  text(): Promise<{ text: string; type: string }>;
  diagnostics(options: { logs: boolean }): Promise<Diagnostics>;
}

export interface PoolViews {
  status(): Promise<PoolStatus>;
}

export interface SnapshotViews {
  list(): Promise<Snapshot[]>;
}

export interface HealthViews {
  /** A caller that is not `full` (no key) gets status words only. */
  live(full: boolean): Live;
  /** `reason` is set when the service is not ready. */
  ready(full: boolean): Promise<Ready & { reason?: string }>;
  health(full: boolean): Promise<Health>;
}
