// Reads the numbers behind /metrics: counts of rows, health of parts, answered requests. The same readings make the
// JSON and the Prometheus gauges, so that the two cannot differ.
import type { ByteLedger } from '../../domain/byte-ledger.ts';
import { formatDuration } from '../../domain/duration.ts';
import type { Clock } from '../../domain/ports.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { MetricsBody } from '../../schema/diagnostics.ts';
import type { SandboxGroup, Store } from '../../store/store.ts';
import type { RateStats } from '../api/system.ts';
import type { PrewarmStats } from '../prewarm/prewarm.ts';
import type { QueueStats } from '../queue/queue.ts';
import type { QueueSettings } from '../records/settings.ts';
import type { Probes } from '../runtime/probes.ts';
import type { Replicas } from '../runtime/replicas.ts';
import type { WorkerStats } from '../workers/worker-stats.ts';
import type { Metrics } from './metrics.ts';

const PROBE_MS = 2000;
/** Counting 100,000 rows takes a while, so a monitor that polls every second gets a cached count. */
const KEPT_MS = 5000;

export interface ReadingDeps {
  store: Store;
  providers: ProviderSet;
  probes: Probes;
  metrics: Metrics;
  /** The number of event readers. */
  readers(): number;
  queue: { stats(): Promise<QueueStats> };
  prewarm: { stats(): Promise<PrewarmStats> };
  rates: { stats(): RateStats };
  ledger: ByteLedger;
  workerStats: WorkerStats;
  replicas: Pick<Replicas, 'view'>;
  settings: { queue: QueueSettings };
  clock: Clock;
}

export interface Readings {
  body: MetricsBody;
  groups: readonly SandboxGroup[];
}

export class Instruments {
  readonly #deps: ReadingDeps;
  readonly #began: number;
  #census: { at: number; groups: Promise<SandboxGroup[]> } | undefined;

  constructor(deps: ReadingDeps) {
    this.#deps = deps;
    this.#began = deps.clock.monotonic();
  }

  /** Rejects when the database does not answer. */
  async read(): Promise<Readings> {
    const { clock, prewarm, rates, ledger } = this.#deps;
    const [store, groups, quotas, providers, events, operations, fleet, scheduler, warm] = await Promise.all([
      this.#store(),
      this.#groups(),
      this.#deps.store.quotas.summary(),
      this.#providers(),
      this.#events(),
      operationsOf(this.#deps.metrics),
      this.#deps.workerStats(),
      schedulerNumbers(this.#deps),
      prewarm.stats(),
    ]);
    const replicas = this.#deps.replicas.view();
    const generated_at = new Date(clock.now()).toISOString();
    const sandboxes = sandboxCounts(groups);
    return {
      groups,
      body: {
        generated_at,
        process: this.#process(),
        store,
        ...(replicas && { replicas }),
        providers,
        sandboxes,
        scheduler,
        ...fleet,
        prewarm: warm,
        quotas,
        rate_limit: rates.stats(),
        buffers: ledger.stats(),
        events,
        operations,
      },
    };
  }

  #process(): MetricsBody['process'] {
    const { rss, heapUsed, heapTotal } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    return {
      uptime_seconds: Math.floor((this.#deps.clock.monotonic() - this.#began) / 1000),
      cpu_seconds: (user + system) / 1e6,
      resident_memory_bytes: rss,
      heap_used_bytes: heapUsed,
      heap_total_bytes: heapTotal,
    };
  }

  async #store(): Promise<MetricsBody['store']> {
    const { store, clock } = this.#deps;
    const began = clock.monotonic();
    await store.ping();
    const latency_ms = Math.round((clock.monotonic() - began) * 10) / 10;
    const shared = await sharedNumbers(store);
    return { status: 'ok', latency_ms, ...(shared && { shared }) };
  }

  #groups(): Promise<SandboxGroup[]> {
    const { store, clock } = this.#deps;
    const now = clock.monotonic();
    if (!this.#census || now - this.#census.at >= KEPT_MS) {
      const groups = store.sandboxes.census();
      this.#census = { at: now, groups };
      groups.catch(() => {
        this.#census = undefined;
      });
    }
    return this.#census.groups;
  }

  #providers(): Promise<MetricsBody['providers']> {
    const { providers, probes } = this.#deps;
    return Promise.all(
      providers.all.map(async (provider) => {
        const { report, latency_ms, last_checked } = await probes.readWithin(provider, PROBE_MS);
        const { healthy, message = 'The provider is not healthy.' } = report;
        return {
          name: provider.kind,
          healthy,
          latency_ms,
          ...(last_checked !== undefined && { last_checked }),
          ...(!healthy && { error: message }),
        };
      }),
    );
  }

  async #events(): Promise<MetricsBody['events']> {
    const { store, metrics, readers } = this.#deps;
    const [{ oldest, newest }, totals] = await Promise.all([
      store.events.bounds(),
      metrics.totals('svc_events_total'),
    ]);
    const stored_total = totals.reduce((sum, { value }) => sum + value, 0);
    return { subscribers: readers(), stored_total, oldest_id: oldest, newest_id: newest };
  }
}

async function sharedNumbers({ shared }: Store): Promise<MetricsBody['store']['shared']> {
  if (!shared) return undefined;
  const { refused, unknown } = shared.repetitions();
  return { ...(await shared.state()), retries_refused_total: refused, retries_unknown_total: unknown };
}

async function schedulerNumbers({
  queue,
  settings,
}: Pick<ReadingDeps, 'queue' | 'settings'>): Promise<MetricsBody['scheduler']> {
  const { depth, queued_total, dequeued_total, timeouts, ...waits } = await queue.stats();
  const { overflow, most, timeoutMs } = settings.queue;
  return {
    spawn_overflow: overflow,
    spawn_queue_depth: depth,
    max_spawn_queue: most,
    spawn_queue_timeout: formatDuration(timeoutMs),
    spawn_queued_total: queued_total,
    spawn_dequeued_total: dequeued_total,
    spawn_queue_timeouts: timeouts,
    spawn_queue_wait_total_ms: waits.wait_total_ms,
    spawn_queue_wait_max_ms: waits.wait_max_ms,
    spawn_queue_wait_avg_ms: Math.round(waits.wait_avg_ms * 10) / 10,
  };
}

function sandboxCounts(groups: readonly SandboxGroup[]): MetricsBody['sandboxes'] {
  const by = (name: 'state' | 'provider' | 'worker_id') => {
    const sums = new Map<string, number>();
    for (const group of groups) sums.set(group[name], (sums.get(group[name]) ?? 0) + group.count);
    return Object.fromEntries(sums);
  };
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  return { total, by_state: by('state'), by_provider: by('provider'), by_worker: by('worker_id') };
}

async function operationsOf(metrics: Metrics): Promise<MetricsBody['operations']> {
  const sums = new Map<string, { requests: number; failures: number; seconds: number }>();
  for (const { labels, count, sum } of await metrics.summaries('svc_http_request_duration_seconds')) {
    const known = sums.get(labels.route) ?? { requests: 0, failures: 0, seconds: 0 };
    sums.set(labels.route, {
      requests: known.requests + count,
      failures: known.failures + (labels.status.startsWith('5') ? count : 0),
      seconds: known.seconds + sum,
    });
  }
  return [...sums]
    .map(([operation, { requests, failures, seconds }]) => {
      const avg_ms = Math.round((seconds / requests) * 1e6) / 1000;
      return { operation, requests, failures, avg_ms };
    })
    .sort((a, b) => (a.operation < b.operation ? -1 : 1));
}
