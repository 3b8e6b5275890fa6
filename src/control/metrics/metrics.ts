// The numbers of this process in Prometheus' terms: the families of schema/metric.ts and Node's own, in a registry that
// is nobody else's. What they mean is decided where they are counted (meter.ts, readings.ts).
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type Labels,
  METRICS,
  type MetricFamily,
  type MetricName,
} from '../../schema/metric.ts';

type Family = Counter | Gauge | Histogram;

/** Gauges of Node whose names end as those of counters do: a strict reader refuses them. */
const MISNAMED = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
];
/** A finer clock would wake an idle process a hundred times a second. */
const LOOP_PRECISION_MS = 100;
const LAG_GAUGES = ['min', 'max', 'mean', 'p50', 'p90', 'p99'].map(
  (part) => `nodejs_eventloop_lag_${part}_seconds`,
);
/** An empty histogram of Node has a minimum of 2^63 ns and a mean that is not a number. */
const LONGEST_LAG_SECONDS = 1e6;

export interface Sample<N extends MetricName> {
  labels: Labels<N>;
  value: number;
}

/** Count and sum of a histogram for one set of labels. */
export interface Summary<N extends MetricName> {
  labels: Labels<N>;
  count: number;
  sum: number;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #families: Record<MetricName, Family>;

  constructor() {
    const made = Object.entries(METRICS).map(([name, family]) => [name, make(name, family, this.#registry)]);
    this.#families = Object.fromEntries(made) as Record<MetricName, Family>;
  }

  /** Node's own metrics too, from now on. Once a process: they cannot be switched off again. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
    for (const name of LAG_GAUGES) subtractInterval(this.#registry.getSingleMetric(name) as Gauge);
  }

  count<N extends CounterName>(name: N, labels: Labels<N>, by = 1): void {
    (this.#families[name] as Counter).inc(labels, by);
  }

  observe<N extends HistogramName>(name: N, labels: Labels<N>, seconds: number): void {
    (this.#families[name] as Histogram).observe(labels, seconds);
  }

  /** Replaces all samples of the family. */
  set<N extends GaugeName>(name: N, samples: readonly Sample<N>[]): void {
    const gauge = this.#families[name] as Gauge;
    gauge.reset();
    for (const { labels, value } of samples) gauge.set(labels, value);
  }

  /** Replaces the totals of a counter that is counted elsewhere. */
  setTotals<N extends CounterName>(name: N, samples: readonly Sample<N>[]): void {
    const counter = this.#families[name] as Counter;
    counter.reset();
    for (const { labels, value } of samples) counter.inc(labels, value);
  }

  async summaries<N extends HistogramName>(name: N): Promise<Summary<N>[]> {
    const { values } = await (this.#families[name] as Histogram).get();
    const sums = values.filter(({ metricName }) => metricName === `${name}_sum`);
    const counts = values.filter(({ metricName }) => metricName === `${name}_count`);
    // The library gives both in the same order of labels.
    return counts.map(({ labels, value }, at) => ({
      labels: labels as Labels<N>,
      count: value,
      sum: sums[at]?.value ?? 0,
    }));
  }

  async totals<N extends CounterName>(name: N): Promise<Sample<N>[]> {
    const { values } = await (this.#families[name] as Counter).get();
    return values.map(({ labels, value }) => ({ labels: labels as Labels<N>, value }));
  }

  /** The exposition format, with its media type. */
  async text(): Promise<{ text: string; type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType };
  }
}

/**
 * Node measures from one tick of its sampling timer to the next (`perf_hooks.monitorEventLoopDelay`), so that an idle loop
 * shows the interval. What exceeds the interval is the lag.
 */
function subtractInterval(gauge: Gauge): void {
  const set = gauge.set.bind(gauge);
  const lagOf = (seconds: number) =>
    seconds < LONGEST_LAG_SECONDS ? Math.max(0, seconds - LOOP_PRECISION_MS / 1000) : 0;
  gauge.set = (first: number | object, value?: number) =>
    typeof first === 'number' ? set(lagOf(first)) : set(first, lagOf(value ?? Number.NaN));
}

function make(name: string, family: MetricFamily, registry: Registry): Family {
  const { type, help, labels = [], buckets = [] } = family;
  const options = { name, help, labelNames: [...labels], registers: [registry] };
  if (type === 'counter') return new Counter(options);
  if (type === 'gauge') return new Gauge(options);
  return new Histogram({ ...options, buckets: [...buckets] });
}
