// For each topic of operations the document to read first; paths are within the package.

export const REMEDIATION = {
  admission: 'docs/remediation.md#admission',
  configuration: 'docs/configuration.md',
  database: 'docs/remediation.md#database',
  events: 'docs/events.md',
  latency: 'docs/remediation.md#latency',
  metrics: 'docs/metrics.md',
  orphans: 'docs/remediation.md#orphans',
  providers: 'docs/remediation.md#providers',
  security: 'docs/threat-model.md',
} as const;
