// Numbers for monitors and for people who look for a fault (docs/design/api.md#health-and-metrics). Twice: as they are,
// and below /admin where the admin key is always needed. One handler serves both.
import { Diagnostics, DiagnosticsQuery, MetricsBody } from '../../schema/diagnostics.ts';
import { TextAnswer } from '../answer.ts';
import { defineRoute, type Route } from '../route.ts';

const errors = ['unavailable'] as const;
const DIAGNOSTICS = {
  summary: 'Get diagnostics of the service',
  success: { status: 200, description: 'The diagnostics. Secrets are redacted.', schema: Diagnostics },
} as const;

/** The differences between the two routes. */
interface RouteGroup {
  ids: { body: 'metrics' | 'adminMetrics'; text: 'metricsText' | 'adminMetricsText' };
  tag: 'system' | 'admin';
  auth: 'api' | 'admin';
}

const numbers = ({ ids, tag, auth }: RouteGroup) => [
  defineRoute({
    id: ids.body,
    tag,
    auth,
    summary: 'Get metrics as JSON',
    success: { status: 200, description: 'The same values as the Prometheus metrics.', schema: MetricsBody },
    errors,
    quiet: true,
    handler: (_call, { metrics }) => metrics.body(),
  }),
  defineRoute({
    id: ids.text,
    tag,
    auth,
    summary: 'Get metrics for Prometheus',
    success: {
      status: 200,
      description: 'The metrics in the Prometheus text format.',
      other: { 'text/plain': {} },
    },
    errors,
    quiet: true,
    handler: async (_call, { metrics }) => {
      const { text, type } = await metrics.text();
      return new TextAnswer(text, type);
    },
  }),
];

export const metricRoutes: Route[] = [
  ...numbers({ ids: { body: 'metrics', text: 'metricsText' }, tag: 'system', auth: 'api' }),
  defineRoute({
    id: 'diagnostics',
    tag: 'system',
    auth: 'api',
    ...DIAGNOSTICS,
    errors,
    handler: (_call, { metrics }) => metrics.diagnostics({ logs: false }),
  }),
];

export const adminMetricRoutes: Route[] = [
  ...numbers({ ids: { body: 'adminMetrics', text: 'adminMetricsText' }, tag: 'admin', auth: 'admin' }),
  defineRoute({
    id: 'adminDiagnostics',
    tag: 'admin',
    auth: 'admin',
    ...DIAGNOSTICS,
    description: 'With logs=true, the response also contains the newest log lines.',
    query: DiagnosticsQuery,
    errors,
    handler: ({ query }, { metrics }) => metrics.diagnostics({ logs: query.logs ?? false }),
  }),
];
