// /metrics, /metrics/prometheus and /diagnostics (docs/design/api.md#health-and-metrics).
import type { LiveConfig } from '../../domain/live-config.ts';
import type { EgressCounters } from '../../egress/egress.ts';
import type { Diagnostics } from '../../schema/diagnostics.ts';
import { REMEDIATION } from '../../schema/remediation.ts';
import type { SharedDatabase } from '../../store/seam/shared-database.ts';
import type { MetricViews } from '../api/system.ts';
import { by, exposeEgress, exposeImages, exposeReadings } from './exposed.ts';
import { exposeUsage, type UsageSource } from './exposed-usage.ts';
import type { ImageSizeReader } from './image-sizes.ts';
import type { Metrics } from './metrics.ts';
import type { Instruments } from './readings.ts';
import { Unserved } from './unserved.ts';

export interface MetricViewDeps {
  metrics: Metrics;
  instruments: Instruments;
  /** The database, where several servers use it. */
  shared: SharedDatabase | undefined;
  config: LiveConfig;
  version: string;
  /** Connections of sandboxes with an egress policy. */
  egress: { totals(): EgressCounters; sizes(): Readonly<Record<string, number>> };
  usage: UsageSource;
  imageSizes: Pick<ImageSizeReader, 'read'>;
  /** Masks secrets. */
  redact(value: unknown): unknown;
  /** The newest log lines, redacted. */
  recentLogs?: (() => Record<string, unknown>[]) | undefined;
}

export function metricViews(deps: MetricViewDeps): MetricViews {
  const { metrics, instruments, shared, version, redact } = deps;
  const unserved = new Unserved();
  metrics.set('svc_build_info', [{ labels: { version, node: process.version }, value: 1 }]);
  return {
    request: ({ route, method, status, seconds }) =>
      metrics.observe('svc_http_request_duration_seconds', { route, method, status }, seconds),
    unserved: (what) => unserved.count(what),
    body: async () => (await instruments.read()).body,
    text: async () => {
      // What is counted in this process is shown also while the database does not answer.
      const [readings, sizes] = await Promise.all([
        instruments.read().catch(() => undefined),
        deps.imageSizes.read(),
      ]);
      exposeReadings(metrics, readings);
      if (shared) metrics.setTotals('svc_database_retries_total', by('outcome', shared.repetitions()));
      exposeEgress(metrics, deps.egress.totals());
      exposeImages(metrics, sizes);
      exposeUsage(metrics, deps.usage);
      return metrics.text();
    },
    diagnostics: async ({ logs }) => {
      const plain = { ...(await instruments.read()).body, ...facts(deps) };
      const shown = redact(plain) as typeof plain;
      return {
        ...shown,
        e2b_unserved: unserved.counts(),
        remediation: { ...REMEDIATION },
        redactions: maskedPaths(plain, shown),
        ...(logs && { logs: deps.recentLogs?.() ?? [] }),
      };
    },
  };
}

function facts({ version, ...deps }: MetricViewDeps): Pick<Diagnostics, 'build' | 'limits' | 'egress'> {
  const { platform, arch } = process;
  const { defaults, server, database } = deps.config.current();
  return {
    build: { version, node: process.version, platform, arch },
    egress: { ...deps.egress.sizes() },
    limits: {
      ...numbered('defaults', defaults),
      ...numbered('server', server, ['body_limit', 'max_json_file', 'max_file_size', 'shutdown_timeout']),
      ...numbered('database', database, ['ended_retention', 'event_retention']),
    },
  };
}

/** `section.key` of the keys named, or of all. */
function numbered(
  section: string,
  values: object,
  keys: readonly string[] = Object.keys(values),
): Diagnostics['limits'] {
  const named = Object.entries(values).filter(([key]) => keys.includes(key));
  return Object.fromEntries(named.map(([key, value]) => [`${section}.${key}`, value as string | number]));
}

/** Dotted paths of the leaves in which a redacted copy differs from the original, in order. */
function maskedPaths(before: unknown, after: unknown, path = ''): string[] {
  if (before === after) return [];
  if (!isNode(before) || !isNode(after)) return [path];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) =>
    maskedPaths(before[key], after[key], path === '' ? key : `${path}.${key}`),
  );
}

const isNode = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
