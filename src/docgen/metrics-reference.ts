// docs/metrics.md: every metric family with its labels.
import { METRICS, type MetricFamily } from '../schema/metric.ts';

const HEAD = `# Metrics

<!-- Generated from src/schema/metric.ts by \`npm run generate\`; do not edit. -->

\`GET /api/v1/metrics/prometheus\` shows these to Prometheus, \`GET /api/v1/metrics\` the most telling of them as JSON. Both
need a key when \`auth.enabled\` is true.

\`\`\`yaml
scrape_configs:
  - job_name: svc
    metrics_path: /api/v1/metrics/prometheus
    http_headers:
      X-API-Key: {files: [/etc/prometheus/svc-api-key]}
    static_configs:
      - targets: ["127.0.0.1:7423"]
\`\`\`

Prometheus sends that header from version 2.55 on. An older one, as Debian 12 has it, needs a proxy that adds it.

- Durations are in seconds, sizes in bytes, names of counters end in \`_total\`. Counters begin at 0 with the process.
- No label holds an owner, a sandbox, a path or a command: the number of series is bounded.
- \`route\` is the operationId of the API description; \`none\` stands for paths that do not exist, and as a status for clients
  that left before their answer.
- Node's own metrics (\`process_*\`, \`nodejs_*\`) are there too.
- \`deploy/prometheus/svc.rules.yml\` holds alerts, \`deploy/grafana/svc.json\` a dashboard.

| Family | Type | Labels | Meaning |
|---|---|---|---|
`;

/** The whole document. */
export function metricsReference(): string {
  return HEAD + Object.entries(METRICS).map(row).join('');
}

function row([name, family]: [string, MetricFamily]): string {
  const labels = (family.labels ?? []).map((label) => `\`${label}\``).join(', ');
  return `| \`${name}\` | ${family.type} | ${labels} | ${family.help} |\n`;
}
