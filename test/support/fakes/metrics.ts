// Numbers of the fake control plane: plausible, and none of them true.
import type { MetricViews } from '../../../src/control/api/system.ts';
import type { MetricsBody } from '../../../src/schema/diagnostics.ts';
import { stamp } from '../records.ts';

export function fakeMetrics(
  note: (method: string, caller: undefined, ...args: unknown[]) => void,
): MetricViews {
  return {
    request: () => {},
    unserved: (what) => note('metrics.unserved', undefined, what),
    body: async () => {
      note('metrics.body', undefined);
      return numbers;
    },
    text: async () => ({ text: '# HELP up Is it.\n', type: 'text/plain; version=0.0.4; charset=utf-8' }),
    diagnostics: async ({ logs }) => {
      note('metrics.diagnostics', undefined, { logs });
      return {
        ...numbers,
        build: { version: '9.9.9', node: 'v20', platform: 'linux', arch: 'x64' },
        egress: { gates: 0 },
        e2b_unserved: {},
        limits: { 'defaults.ttl': '30m', 'defaults.max_sandboxes': 0 },
        remediation: { metrics: 'docs/metrics.md' },
        redactions: [],
        ...(logs && { logs: [{ message: 'hello' }] }),
      };
    },
  };
}

const numbers: MetricsBody = {
  generated_at: stamp(),
  process: {
    uptime_seconds: 1,
    cpu_seconds: 0.5,
    resident_memory_bytes: 1,
    heap_used_bytes: 1,
    heap_total_bytes: 1,
  },
  store: { status: 'ok', latency_ms: 0.1 },
  providers: [{ name: 'userspace', healthy: false, latency_ms: 1, error: 'No.' }],
  sandboxes: { total: 0, by_state: {}, by_provider: {}, by_worker: {} },
  scheduler: {
    ...{ spawn_overflow: 'reject', spawn_queue_depth: 0, max_spawn_queue: 100, spawn_queue_timeout: '1m' },
    ...{ spawn_queued_total: 0, spawn_dequeued_total: 0, spawn_queue_timeouts: 0 },
    ...{ spawn_queue_wait_total_ms: 0, spawn_queue_wait_max_ms: 0, spawn_queue_wait_avg_ms: 0 },
  },
  prewarm: {
    ...{ wanted_auto: 0, wanted: 0, ready: 0, starting: 0, claimed_total: 0, missed_total: 0 },
    ...{ made_total: 0, failed_total: 0, evicted_total: 0, by_worker: {} },
  },
  workers: { total: 1, by_status: { online: 1 }, stale: 0, oldest_heartbeat_seconds: 1 },
  leases: { total: 0, active: 0, expired: 0 },
  quotas: { total: 0, with_max_sandboxes: 0, with_max_ttl: 0, with_max_exec_timeout: 0 },
  rate_limit: {
    ...{ enabled: false, key_by: 'owner', requests_per_minute: 120, burst: 60, max_buckets: 1000 },
    ...{
      buckets: 0,
      evicted_total: 0,
      allowed_total: 0,
      limited_total: 0,
      failed_total: 0,
      blocked_total: 0,
    },
  },
  buffers: {
    ...{ limit_bytes: 1, held_bytes: 0, peak_bytes: 0, holders: 0 },
    ...{ refused_share_total: 0, refused_full_total: 0 },
  },
  events: { subscribers: 0, stored_total: 0, oldest_id: 0, newest_id: 0 },
  operations: [],
};
