// Converts readings to Prometheus gauges, and to the counters that are counted elsewhere.
import type { MetricsBody } from '../../schema/diagnostics.ts';
import type { SandboxGroup } from '../../store/store.ts';
import type { Metrics } from './metrics.ts';
import type { Readings } from './readings.ts';

/** Replaces the values of the last readings. */
export function exposeReadings(metrics: Metrics, { body, groups }: Readings): void {
  exposeSandboxes(metrics, groups);
  exposeQuotas(metrics, body.quotas);
  exposeScheduler(metrics, body.scheduler);
  exposeWorkers(metrics, body);
  exposePrewarm(metrics, body.prewarm);
  exposeRates(metrics, body.rate_limit);
  exposeBuffers(metrics, body.buffers);
  metrics.set(
    'svc_provider_up',
    body.providers.map(({ name, healthy }) => ({ labels: { provider: name }, value: Number(healthy) })),
  );
  metrics.set('svc_event_subscribers', plain(body.events.subscribers));
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
  metrics.set('svc_owner_quotas', plain(total));
  metrics.set('svc_owner_quota_overrides', [
    { labels: { limit: 'max_sandboxes' }, value: with_max_sandboxes },
    { labels: { limit: 'max_ttl' }, value: with_max_ttl },
    { labels: { limit: 'max_exec_timeout' }, value: with_max_exec_timeout },
  ]);
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
  const by = { ...workers.by_status, stale: workers.stale };
  metrics.set(
    'svc_workers',
    Object.entries(by).map(([status, value]) => ({ labels: { status }, value })),
  );
  metrics.set('svc_worker_heartbeat_age_seconds', plain(workers.oldest_heartbeat_seconds));
  metrics.set('svc_leases', [
    { labels: { status: 'active' }, value: leases.active },
    { labels: { status: 'expired' }, value: leases.expired },
  ]);
}

function exposePrewarm(metrics: Metrics, prewarm: MetricsBody['prewarm']): void {
  const { wanted, ready, starting, claimed_total, missed_total } = prewarm;
  const { made_total, failed_total, evicted_total } = prewarm;
  metrics.set('svc_prewarm_wanted', plain(wanted));
  metrics.set('svc_prewarm_sandboxes', [
    { labels: { state: 'ready' }, value: ready },
    { labels: { state: 'starting' }, value: starting },
  ]);
  metrics.setTotals('svc_prewarm_claims_total', [
    { labels: { outcome: 'claimed' }, value: claimed_total },
    { labels: { outcome: 'missed' }, value: missed_total },
  ]);
  metrics.setTotals('svc_prewarm_runtimes_total', [
    { labels: { outcome: 'made' }, value: made_total },
    { labels: { outcome: 'failed' }, value: failed_total },
    { labels: { outcome: 'evicted' }, value: evicted_total },
  ]);
}

function exposeRates(metrics: Metrics, rates: MetricsBody['rate_limit']): void {
  metrics.setTotals('svc_rate_limit_requests_total', [
    { labels: { outcome: 'allowed' }, value: rates.allowed_total },
    { labels: { outcome: 'limited' }, value: rates.limited_total },
    { labels: { outcome: 'failed' }, value: rates.failed_total },
    { labels: { outcome: 'blocked' }, value: rates.blocked_total },
  ]);
  metrics.set('svc_rate_limit_buckets', plain(rates.buckets));
  metrics.setTotals('svc_rate_limit_evictions_total', plain(rates.evicted_total));
}

function exposeBuffers(metrics: Metrics, buffers: MetricsBody['buffers']): void {
  metrics.set('svc_buffer_bytes', plain(buffers.held_bytes));
  metrics.set('svc_buffer_limit_bytes', plain(buffers.limit_bytes));
  metrics.setTotals('svc_buffer_refusals_total', [
    { labels: { reason: 'share' }, value: buffers.refused_share_total },
    { labels: { reason: 'full' }, value: buffers.refused_full_total },
  ]);
}

/** The single sample of a family without labels. */
const plain = (value: number) => [{ labels: {}, value }];
