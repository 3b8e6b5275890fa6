// docs/metrics.md: every metric family with its labels.
import { METRICS, type MetricFamily } from '../schema/metric.ts';

const HEAD = `# Metrics

<!-- Generated from src/schema/metric.ts by \`npm run generate\`; do not edit. -->

\`GET /api/v1/metrics/prometheus\` returns these families for Prometheus, \`GET /api/v1/metrics\` the most important ones as JSON.
Both need a key when \`auth.enabled\` is true.

\`\`\`yaml
scrape_configs:
  - job_name: svc
    metrics_path: /api/v1/metrics/prometheus
    http_headers:
      X-API-Key: {files: [/etc/prometheus/svc-api-key]}
    static_configs:
      - targets: ["127.0.0.1:7423"]
\`\`\`

Prometheus supports \`http_headers\` from version 2.55. An older one, as in Debian 12, needs a proxy that adds the header.

- Durations are in seconds and sizes in bytes. Names of counters end in \`_total\`. Counters start at 0 with the process.
- No label holds a sandbox, a path or a command, and only owners in \`usage.exposed_owners\`, so the number of series is bounded.
- \`route\` is the operationId of the API description, or \`none\` for paths that do not exist. The status \`none\` means that the
  client disconnected before the answer.
- Families marked *shared* count rows of the database. Of servers that share one, take \`max\`, not \`sum\`.
- Node's own metrics (\`process_*\`, \`nodejs_*\`) are included.
- \`deploy/prometheus/svc.rules.yml\` holds alerts, \`deploy/grafana/svc.json\` a dashboard.

| Family | Type | Labels | Meaning |
|---|---|---|---|
`;

/** The complete document. */
export function metricsReference(): string {
  return HEAD + Object.entries(METRICS).map(row).join('');
}

function row([name, family]: [string, MetricFamily]): string {
  const labels = (family.labels ?? []).map((label) => `\`${label}\``).join(', ');
  const type = family.isShared ? `${family.type}, *shared*` : family.type;
  return `| \`${name}\` | ${type} | ${labels} | ${family.help} |\n`;
}
