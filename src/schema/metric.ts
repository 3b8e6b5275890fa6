// THE table of metric families: what /metrics/prometheus shows, docs/metrics.md says, and alerts and dashboard may use.
// Seconds and bytes; counters end in _total. No label holds a sandbox, a path or any other text of a
// stranger; an owner only if the configuration names it.

import { USAGE_METRICS } from './metric-usage.ts';

export interface MetricFamily {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels?: readonly string[];
  /** Upper bounds of a histogram, in seconds. */
  buckets?: readonly number[];
  /** Counts rows of the database: of servers that share one, the maximum is true and not the sum. */
  isShared?: true;
}

/** Requests and commands: from what the server alone needs to what a person waits for. */
const CALLS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** Starting a runtime. */
const STARTS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** The time in the queue: as long as another sandbox lives. */
const WAITS = [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export const METRICS = {
  svc_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels name the version.',
    labels: ['version', 'node'],
  },
  svc_replica_info: {
    type: 'gauge',
    help: 'Always 1, where a PostgreSQL database is used; the label is the id of this server in it.',
    labels: ['replica'],
  },
  svc_replicas: {
    type: 'gauge',
    help: 'Live servers that share the PostgreSQL database, this one included.',
    isShared: true,
  },
  svc_role: {
    type: 'gauge',
    help: '1 if this server has the role: upkeep ends what has expired, desk admits queued spawns, warm keeps prewarmed sandboxes. One server should have each.',
    labels: ['role'],
  },
  svc_database_up: {
    type: 'gauge',
    help: '1 while the database answers. While it is 0, families about its contents are absent.',
  },
  svc_database_retries_total: {
    type: 'counter',
    help: 'Database operations that were repeated: refused by PostgreSQL, or unknown because the answer was lost.',
    labels: ['outcome'],
  },
  svc_outbox_depth: {
    type: 'gauge',
    help: 'Events in PostgreSQL that have no id yet, so that no reader sees them.',
    isShared: true,
  },
  svc_outbox_age_seconds: {
    type: 'gauge',
    help: 'Age of the oldest of these events.',
    isShared: true,
  },
  svc_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Duration of requests, from the request head to the end of the response; streams last as long as they are read.',
    labels: ['route', 'method', 'status'],
    buckets: CALLS,
  },
  svc_spawn_duration_seconds: {
    type: 'histogram',
    help: 'Duration of spawns: reserve (admission and the database row), create (the provider), total (from the row to running).',
    labels: ['provider', 'phase'],
    buckets: STARTS,
  },
  svc_exec_duration_seconds: {
    type: 'histogram',
    help: 'Duration of commands until they end or time out.',
    labels: ['provider'],
    buckets: CALLS,
  },
  svc_sandboxes: {
    type: 'gauge',
    help: 'Sandboxes that have not ended.',
    labels: ['state', 'provider'],
    isShared: true,
  },
  svc_admission_total: {
    type: 'counter',
    help: 'Admission decisions: allowed, queued for the reason, denied for the reason. A queued spawn is decided again.',
    labels: ['decision', 'reason'],
  },
  svc_spawn_queue_depth: {
    type: 'gauge',
    help: 'Spawns in the queue.',
    isShared: true,
  },
  svc_spawn_queue_capacity: {
    type: 'gauge',
    help: 'Capacity of the queue; 0 if queueing is disabled.',
  },
  svc_spawn_queue_enqueued_total: {
    type: 'counter',
    help: 'Spawns that entered the queue.',
  },
  svc_spawn_queue_dequeued_total: {
    type: 'counter',
    help: 'Queued spawns that were started.',
  },
  svc_spawn_queue_timeouts_total: {
    type: 'counter',
    help: 'Queued spawns that timed out.',
  },
  svc_spawn_queue_wait_seconds: {
    type: 'histogram',
    help: 'Queue wait of spawns that were started.',
    buckets: WAITS,
  },
  svc_prewarm_wanted: {
    type: 'gauge',
    help: 'Prewarmed sandboxes that should be ready: requested by templates, or of shapes that were spawned lately.',
    isShared: true,
  },
  svc_prewarm_sandboxes: {
    type: 'gauge',
    help: 'Prewarmed sandboxes: ready, or starting.',
    labels: ['state'],
    isShared: true,
  },
  svc_prewarm_claims_total: {
    type: 'counter',
    help: 'Spawns whose shape is prewarmed: claimed a prewarmed sandbox, or missed because none was ready.',
    labels: ['outcome'],
  },
  svc_prewarm_runtimes_total: {
    type: 'counter',
    help: 'Prewarmed sandboxes: made, failed to start, or evicted to make room for a spawn.',
    labels: ['outcome'],
  },
  svc_egress_connections_total: {
    type: 'counter',
    help: 'Connections and plain HTTP requests of sandboxes with an egress policy.',
    labels: ['decision'],
  },
  svc_egress_bytes_total: {
    type: 'counter',
    help: 'Bytes of these connections.',
    labels: ['direction'],
  },
  svc_egress_open_connections: {
    type: 'gauge',
    help: 'Open connections of sandboxes with an egress policy.',
  },
  svc_images: {
    type: 'gauge',
    help: 'Names of images in the image store of this machine. Absent while the store does not answer.',
  },
  svc_image_store_bytes: {
    type: 'gauge',
    help: 'Bytes in the image store of this machine: unpacked layers, disks of virtual machines, and partial layers of pulls.',
    labels: ['content'],
  },
  svc_image_pulls_total: {
    type: 'counter',
    help: 'Pulls of images for spawns and calls: pulled, unchanged (the store had what the tag leads to), or failed.',
    labels: ['outcome'],
  },
  svc_image_pull_duration_seconds: {
    type: 'histogram',
    help: 'Duration of pulls that fetched an image.',
    buckets: WAITS,
  },
  svc_image_fetched_bytes_total: {
    type: 'counter',
    help: 'Bytes of image layers that came from registries.',
  },
  svc_workers: {
    type: 'gauge',
    help: 'Workers by status: online, draining, offline, or stale (no recent heartbeat). Includes local.',
    labels: ['status'],
    isShared: true,
  },
  svc_worker_heartbeat_age_seconds: {
    type: 'gauge',
    help: 'Age of the oldest heartbeat among workers that are not offline.',
    isShared: true,
  },
  svc_leases: {
    type: 'gauge',
    help: 'Leases of remote workers: active, or expired and not yet ended here.',
    labels: ['status'],
    isShared: true,
  },
  svc_owner_quotas: {
    type: 'gauge',
    help: 'Owners with a quota of their own.',
    isShared: true,
  },
  svc_owner_quota_overrides: {
    type: 'gauge',
    help: 'Owners whose quota overrides the limit.',
    labels: ['limit'],
    isShared: true,
  },
  svc_rate_limit_requests_total: {
    type: 'counter',
    help: 'Requests by outcome: allowed or limited by the rate limit, failed with a wrong key, or blocked after too many wrong keys.',
    labels: ['outcome'],
  },
  svc_rate_limit_buckets: {
    type: 'gauge',
    help: 'Callers whose token bucket is not full.',
  },
  svc_rate_limit_evictions_total: {
    type: 'counter',
    help: 'Token buckets evicted because there were too many.',
  },
  svc_provider_up: {
    type: 'gauge',
    help: '1 while the provider is healthy.',
    labels: ['provider'],
  },
  svc_events_total: {
    type: 'counter',
    help: 'Events stored since the start.',
    labels: ['type'],
  },
  svc_event_subscribers: {
    type: 'gauge',
    help: 'Readers of the event stream.',
  },
  svc_buffer_bytes: {
    type: 'gauge',
    help: 'Bytes of request bodies, outputs, lists and responses kept in memory for calls.',
  },
  svc_buffer_limit_bytes: {
    type: 'gauge',
    help: 'Limit of those bytes (server.buffer_limit).',
  },
  svc_buffer_refusals_total: {
    type: 'counter',
    help: 'Requests refused or outputs truncated: because an owner exceeded its share, or because the limit was reached.',
    labels: ['reason'],
  },
  ...USAGE_METRICS,
  svc_orphans_total: {
    type: 'counter',
    help: 'Runtimes without a sandbox that were destroyed.',
    labels: ['provider'],
  },
} as const satisfies Record<string, MetricFamily>;

export type MetricName = keyof typeof METRICS;
type OfType<T> = { [N in MetricName]: (typeof METRICS)[N]['type'] extends T ? N : never }[MetricName];
export type CounterName = OfType<'counter'>;
export type GaugeName = OfType<'gauge'>;
export type HistogramName = OfType<'histogram'>;

/** What each sample of a family must say of itself. */
export type Labels<N extends MetricName> = (typeof METRICS)[N] extends {
  labels: readonly (infer L extends string)[];
}
  ? Record<L, string>
  : Record<never, string>;
