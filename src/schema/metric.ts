// THE table of metric families: what /metrics/prometheus shows, docs/metrics.md says, and alerts and dashboard may use.
// Seconds and bytes; counters end in _total. No label holds an owner, a sandbox, a path or any other text of a stranger.

export interface MetricFamily {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels?: readonly string[];
  /** Upper bounds of a histogram, in seconds. */
  buckets?: readonly number[];
}

/** Requests and commands: from what the server alone needs to what a person waits for. */
const CALLS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** Starting a runtime. */
const STARTS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Waiting for a place: as long as somebody else's sandbox lives. */
const WAITS = [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export const METRICS = {
  svc_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels say what runs.',
    labels: ['version', 'node'],
  },
  svc_http_request_duration_seconds: {
    type: 'histogram',
    help: 'From the head of a request to the end of its answer; streams last as long as they are read.',
    labels: ['route', 'method', 'status'],
    buckets: CALLS,
  },
  svc_spawn_duration_seconds: {
    type: 'histogram',
    help: 'Spawning a sandbox: reserve (admission and its row), create (the provider), total (row to running).',
    labels: ['provider', 'phase'],
    buckets: STARTS,
  },
  svc_exec_duration_seconds: {
    type: 'histogram',
    help: 'Commands that ran, to their end or their deadline.',
    labels: ['provider'],
    buckets: CALLS,
  },
  svc_sandboxes: {
    type: 'gauge',
    help: 'Sandboxes that have not ended.',
    labels: ['state', 'provider'],
  },
  svc_admission_total: {
    type: 'counter',
    help: 'Decisions on spawns: allowed, queued for the reason, denied for the reason. A queued one is decided once more.',
    labels: ['decision', 'reason'],
  },
  svc_spawn_queue_depth: {
    type: 'gauge',
    help: 'Spawns that wait for a place.',
  },
  svc_spawn_queue_capacity: {
    type: 'gauge',
    help: 'Spawns that may wait; 0 where none is queued.',
  },
  svc_spawn_queue_enqueued_total: {
    type: 'counter',
    help: 'Spawns that began to wait.',
  },
  svc_spawn_queue_dequeued_total: {
    type: 'counter',
    help: 'Spawns that waited and were started.',
  },
  svc_spawn_queue_timeouts_total: {
    type: 'counter',
    help: 'Spawns that waited for too long and were refused.',
  },
  svc_spawn_queue_wait_seconds: {
    type: 'histogram',
    help: 'Waits of spawns that were started.',
    buckets: WAITS,
  },
  svc_prewarm_wanted: {
    type: 'gauge',
    help: 'Ready sandboxes that templates ask for.',
  },
  svc_prewarm_sandboxes: {
    type: 'gauge',
    help: 'Sandboxes made ahead: ready, or starting.',
    labels: ['state'],
  },
  svc_prewarm_claims_total: {
    type: 'counter',
    help: 'Spawns of templates that keep ready sandboxes: claimed one, or missed because none was ready.',
    labels: ['outcome'],
  },
  svc_prewarm_runtimes_total: {
    type: 'counter',
    help: 'Sandboxes made ahead: made, failed to start, evicted to make room for a spawn.',
    labels: ['outcome'],
  },
  svc_workers: {
    type: 'gauge',
    help: 'Workers by what they are: online, draining, offline, stale (not heard of for long). local is one.',
    labels: ['status'],
  },
  svc_worker_heartbeat_age_seconds: {
    type: 'gauge',
    help: 'Since the oldest last heartbeat of a worker that is not offline.',
  },
  svc_leases: {
    type: 'gauge',
    help: 'Rights of other workers to run sandboxes: active, or expired and not yet ended here.',
    labels: ['status'],
  },
  svc_owner_quotas: {
    type: 'gauge',
    help: 'Owners with a quota of their own.',
  },
  svc_owner_quota_overrides: {
    type: 'gauge',
    help: 'Owners whose quota overrides the limit.',
    labels: ['limit'],
  },
  svc_rate_limit_requests_total: {
    type: 'counter',
    help: 'Requests: allowed or limited by the rate limit, failed with a wrong key, blocked after too many of those.',
    labels: ['outcome'],
  },
  svc_rate_limit_buckets: {
    type: 'gauge',
    help: 'Callers whose bucket is not full.',
  },
  svc_rate_limit_evictions_total: {
    type: 'counter',
    help: 'Buckets that gave way because there were too many.',
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
    help: 'Bytes of bodies, outputs, lists and answers kept in memory for calls.',
  },
  svc_buffer_limit_bytes: {
    type: 'gauge',
    help: 'The most of those there may be (server.buffer_limit).',
  },
  svc_buffer_refusals_total: {
    type: 'counter',
    help: "Takings refused, or outputs cut: for an owner's share, or because all was full.",
    labels: ['reason'],
  },
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
