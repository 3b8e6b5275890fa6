// Converts readings to Prometheus gauges, and to the counters that are counted elsewhere.
import type { ImageSizes } from '../../domain/machine-images.ts';
import type { EgressCounters } from '../../egress/egress.ts';
import type { MetricsBody } from '../../schema/diagnostics.ts';
import type { GaugeName } from '../../schema/metric.ts';
import { ROLES } from '../../store/seam/replicas.ts';
import type { SandboxGroup } from '../../store/store.ts';
import type { Metrics } from './metrics.ts';
import type { Readings } from './readings.ts';

/** Gauges of what the database says: without an answer they have no values rather than old ones. */
const OF_DATABASE: readonly GaugeName[] = [
  'svc_sandboxes',
  'svc_owner_quotas',
  'svc_owner_quota_overrides',
  'svc_spawn_queue_depth',
  'svc_workers',
  'svc_worker_heartbeat_age_seconds',
  'svc_leases',
  'svc_prewarm_wanted',
  'svc_prewarm_sandboxes',
  'svc_outbox_depth',
  'svc_outbox_age_seconds',
  'svc_replicas',
  'svc_role',
];

/** Replaces the values of the last readings; `undefined`: the database did not answer. */
export function exposeReadings(metrics: Metrics, readings: Readings | undefined): void {
  metrics.set('svc_database_up', plain(readings ? 1 : 0));
  if (!readings) {
    for (const name of OF_DATABASE) metrics.set(name, []);
    return;
  }
  const { body, groups } = readings;
  exposeReplicas(metrics, body);
  exposeSandboxes(metrics, groups);
  exposeQuotas(metrics, body.quotas);
  exposeScheduler(metrics, body.scheduler);
  exposeWorkers(metrics, body);
  exposePrewarm(metrics, body.prewarm);
  exposeRates(metrics, body.rate_limit);
  exposeBuffers(metrics, body.buffers);
  const up = body.providers.map(({ name, healthy }) => [name, Number(healthy)]);
  metrics.set('svc_provider_up', by('provider', Object.fromEntries(up)));
  metrics.set('svc_event_subscribers', plain(body.events.subscribers));
}

/** Only where several servers may share the database. */
function exposeReplicas(metrics: Metrics, { replicas, store: { shared } }: MetricsBody): void {
  if (shared) {
    metrics.set('svc_outbox_depth', plain(shared.outbox_events));
    metrics.set('svc_outbox_age_seconds', plain(shared.outbox_age_seconds));
  }
  if (!replicas) return;
  const { id, roles, live } = replicas;
  const held = ROLES.map((role) => [role, Number(roles[role] === id)]);
  metrics.set('svc_replica_info', by('replica', { [id]: 1 }));
  metrics.set('svc_replicas', plain(live.length));
  metrics.set('svc_role', by('role', Object.fromEntries(held)));
}

function exposeSandboxes(metrics: Metrics, groups: readonly SandboxGroup[]): void {
  const sums = new Map<string, { labels: { state: string; provider: string }; value: number }>();
  for (const { state, provider, count } of groups) {
    const key = `${state} ${provider}`;
    const value = (sums.get(key)?.value ?? 0) + count;
    sums.set(key, { labels: { state, provider }, value });
  }
  metrics.set('svc_sandboxes', [...sums.values()]);
}

function exposeQuotas(metrics: Metrics, quotas: MetricsBody['quotas']): void {
  const { total, with_max_sandboxes, with_max_ttl, with_max_exec_timeout } = quotas;
  const overrides = {
    max_sandboxes: with_max_sandboxes,
    max_ttl: with_max_ttl,
    max_exec_timeout: with_max_exec_timeout,
  };
  metrics.set('svc_owner_quotas', plain(total));
  metrics.set('svc_owner_quota_overrides', by('limit', overrides));
}

function exposeScheduler(metrics: Metrics, scheduler: MetricsBody['scheduler']): void {
  const { spawn_overflow, max_spawn_queue } = scheduler;
  metrics.set('svc_spawn_queue_depth', plain(scheduler.spawn_queue_depth));
  metrics.set('svc_spawn_queue_capacity', plain(spawn_overflow === 'queue' ? max_spawn_queue : 0));
  metrics.setTotals('svc_spawn_queue_enqueued_total', plain(scheduler.spawn_queued_total));
  metrics.setTotals('svc_spawn_queue_dequeued_total', plain(scheduler.spawn_dequeued_total));
  metrics.setTotals('svc_spawn_queue_timeouts_total', plain(scheduler.spawn_queue_timeouts));
}

function exposeWorkers(metrics: Metrics, { workers, leases }: MetricsBody): void {
  metrics.set('svc_workers', by('status', { ...workers.by_status, stale: workers.stale }));
  metrics.set('svc_worker_heartbeat_age_seconds', plain(workers.oldest_heartbeat_seconds));
  metrics.set('svc_leases', by('status', { active: leases.active, expired: leases.expired }));
}

function exposePrewarm(metrics: Metrics, prewarm: MetricsBody['prewarm']): void {
  const { wanted, ready, starting, claimed_total: claimed, missed_total: missed } = prewarm;
  const { made_total: made, failed_total: failed, evicted_total: evicted } = prewarm;
  metrics.set('svc_prewarm_wanted', plain(wanted));
  metrics.set('svc_prewarm_sandboxes', by('state', { ready, starting }));
  metrics.setTotals('svc_prewarm_claims_total', by('outcome', { claimed, missed }));
  metrics.setTotals('svc_prewarm_runtimes_total', by('outcome', { made, failed, evicted }));
}

function exposeRates(metrics: Metrics, rates: MetricsBody['rate_limit']): void {
  const { allowed_total: allowed, limited_total: limited } = rates;
  const { failed_total: failed, blocked_total: blocked } = rates;
  metrics.setTotals('svc_rate_limit_requests_total', by('outcome', { allowed, limited, failed, blocked }));
  metrics.set('svc_rate_limit_buckets', plain(rates.buckets));
  metrics.setTotals('svc_rate_limit_evictions_total', plain(rates.evicted_total));
}

function exposeBuffers(metrics: Metrics, buffers: MetricsBody['buffers']): void {
  const { refused_share_total: share, refused_full_total: full } = buffers;
  metrics.set('svc_buffer_bytes', plain(buffers.held_bytes));
  metrics.set('svc_buffer_limit_bytes', plain(buffers.limit_bytes));
  metrics.setTotals('svc_buffer_refusals_total', by('reason', { share, full }));
}

/** The single sample of a family without labels. */
const plain = (value: number) => [{ labels: {}, value }];

/** One sample for each value of a family with one label. */
export const by = <L extends string>(label: L, values: Record<string, number>) =>
  Object.entries(values).map(([name, value]) => ({ labels: { [label]: name } as Record<L, string>, value }));

/** Replaces the values of the last reading; `undefined`: the image store did not answer, or there is none. */
export function exposeImages(metrics: Metrics, sizes: ImageSizes | undefined): void {
  metrics.set('svc_images', sizes ? plain(sizes.images) : []);
  const { layers = 0, disks = 0, partial = 0 } = sizes ?? {};
  metrics.set('svc_image_store_bytes', sizes ? by('content', { layers, disks, partial }) : []);
}

/** What is counted in this process. */
export function exposeEgress(metrics: Metrics, counters: EgressCounters): void {
  const { allowed, denied, failed, open, sent_bytes: sent, received_bytes: received } = counters;
  metrics.setTotals('svc_egress_connections_total', by('decision', { allowed, denied, failed }));
  metrics.setTotals('svc_egress_bytes_total', by('direction', { sent, received }));
  metrics.set('svc_egress_open_connections', plain(open));
}
