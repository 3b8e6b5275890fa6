// For each topic of operations the document to read first; paths are within the package.

export const REMEDIATION = {
  admission: 'docs/remediation.md#admission',
  authentication: 'docs/remediation.md#authentication',
  commands: 'docs/remediation.md#commands',
  configuration: 'docs/configuration.md',
  conflicts: 'docs/remediation.md#conflicts',
  database: 'docs/remediation.md#database',
  events: 'docs/events.md',
  latency: 'docs/remediation.md#latency',
  metrics: 'docs/metrics.md',
  orphans: 'docs/remediation.md#orphans',
  pool: 'docs/remediation.md#pool',
  prewarm: 'docs/remediation.md#prewarm',
  providers: 'docs/remediation.md#providers',
  queue: 'docs/remediation.md#queue',
  quotas: 'docs/remediation.md#quotas',
  rate_limit: 'docs/remediation.md#rate_limit',
  requests: 'docs/remediation.md#requests',
  security: 'docs/threat-model.md',
  usage: 'docs/remediation.md#usage',
} as const;
