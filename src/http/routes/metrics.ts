// Numbers for monitors and for people who look for a fault (specification part 4, api.md part 9).
import { Diagnostics, MetricsBody } from '../../schema/diagnostics.ts';
import { TextAnswer } from '../answer.ts';
import { defineRoute, type Route } from '../route.ts';

const tag = 'system';
const auth = 'api';

export const metricRoutes: Route[] = [
  defineRoute({
    id: 'metrics',
    tag,
    auth,
    summary: 'Numbers as JSON',
    success: { status: 200, description: 'The same as in Prometheus.', schema: MetricsBody },
    errors: ['unavailable'],
    quiet: true,
    handler: (_call, { metrics }) => metrics.body(),
  }),
  defineRoute({
    id: 'metricsText',
    tag,
    auth,
    summary: 'Numbers for Prometheus',
    success: { status: 200, description: 'The text exposition format.', other: { 'text/plain': {} } },
    errors: ['unavailable'],
    quiet: true,
    handler: async (_call, { metrics }) => {
      const { text, type } = await metrics.text();
      return new TextAnswer(text, type);
    },
  }),
  defineRoute({
    id: 'diagnostics',
    tag,
    auth,
    summary: 'How the service is, and what to read when it is not well',
    success: { status: 200, description: 'Redacted: no secret is in it.', schema: Diagnostics },
    errors: ['unavailable'],
    handler: (_call, { metrics }) => metrics.diagnostics({ logs: false }),
  }),
];
