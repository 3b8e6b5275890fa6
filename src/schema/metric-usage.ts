// Families about what sandboxes and the machine use: a part of metric.ts.

export const USAGE_METRICS = {
  svc_sandbox_cpu_seconds_total: {
    type: 'counter',
    help: 'Processor time of sandboxes, as their hosts count it, while this server measured it.',
    labels: ['provider'],
  },
  svc_sandbox_memory_bytes: {
    type: 'gauge',
    help: 'Memory in use of running sandboxes, without pages of files that can be dropped.',
    labels: ['provider'],
  },
  svc_sandbox_network_bytes_total: {
    type: 'counter',
    help: 'Bytes that sandboxes received and sent, where their hosts count them.',
    labels: ['provider', 'direction'],
  },
  svc_sandbox_oom_kills_total: {
    type: 'counter',
    help: 'Processes of sandboxes that the kernel ended because the memory of their sandbox was used up.',
    labels: ['provider'],
  },
  svc_usage_unmeasured: {
    type: 'gauge',
    help: 'Running sandboxes without a measurement.',
    labels: ['provider'],
  },
  svc_usage_sample_seconds_total: {
    type: 'counter',
    help: 'Time that measuring took, with waits for engines and workers.',
  },
  svc_usage_sample_failures_total: {
    type: 'counter',
    help: 'Failures to measure sandboxes of a provider, here or on a worker.',
    labels: ['provider'],
  },
  svc_usage_flush_lag_seconds: {
    type: 'gauge',
    help: 'Time since the ledger was brought up to date, on the server that does so.',
  },
  svc_owner_cpu_seconds_total: {
    type: 'counter',
    help: 'Processor time of sandboxes of the owners in usage.exposed_owners; all others are other. Absent without any.',
    labels: ['owner'],
  },
  svc_owner_sandboxes: {
    type: 'gauge',
    help: 'Running sandboxes of the owners in usage.exposed_owners; all others are other. Absent without any.',
    labels: ['owner'],
  },
  svc_host_cpu_seconds_total: {
    type: 'counter',
    help: 'Time in which processors of this machine were busy.',
  },
  svc_host_memory_bytes: {
    type: 'gauge',
    help: 'Memory of this machine: used, or free.',
    labels: ['state'],
  },
} as const;
