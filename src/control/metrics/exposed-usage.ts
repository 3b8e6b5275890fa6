// What sandboxes and this machine use, for Prometheus. The labels are providers, and owners that the configuration names.
import { freemem, totalmem } from 'node:os';
import type { Latest } from '../usage/latest.ts';
import { hostTimes } from '../usage/live.ts';
import type { UsageTotals } from '../usage/totals.ts';
import { by } from './exposed.ts';
import type { Metrics } from './metrics.ts';

export interface UsageSource {
  totals: UsageTotals;
  sampler: { all(): ReadonlyMap<string, Latest> };
  ledger: { readonly lagSeconds: number };
}

export function exposeUsage(metrics: Metrics, { totals, sampler, ledger }: UsageSource): void {
  const grown = [...totals.grown()];
  const { memory, unmeasured, owners } = totals.present(sampler.all().values());
  metrics.setTotals(
    'svc_sandbox_cpu_seconds_total',
    grown.map(([provider, { cpu_us }]) => ({ labels: { provider }, value: cpu_us / 1e6 })),
  );
  metrics.setTotals(
    'svc_sandbox_network_bytes_total',
    grown.flatMap(([provider, { rx_bytes, tx_bytes }]) => [
      { labels: { provider, direction: 'received' }, value: rx_bytes },
      { labels: { provider, direction: 'sent' }, value: tx_bytes },
    ]),
  );
  metrics.setTotals(
    'svc_sandbox_oom_kills_total',
    grown.map(([provider, { oom_kills }]) => ({ labels: { provider }, value: oom_kills })),
  );
  metrics.set('svc_sandbox_memory_bytes', by('provider', Object.fromEntries(memory)));
  metrics.set('svc_usage_unmeasured', by('provider', Object.fromEntries(unmeasured)));
  metrics.setTotals('svc_usage_sample_seconds_total', [{ labels: {}, value: totals.sampleSeconds }]);
  metrics.setTotals('svc_usage_sample_failures_total', by('provider', Object.fromEntries(totals.failures)));
  metrics.set('svc_usage_flush_lag_seconds', [{ labels: {}, value: ledger.lagSeconds }]);
  const seconds = [...totals.owners()].map(([owner, cpu_us]) => ({ labels: { owner }, value: cpu_us / 1e6 }));
  metrics.setTotals('svc_owner_cpu_seconds_total', seconds);
  metrics.set('svc_owner_sandboxes', by('owner', Object.fromEntries(owners)));
  metrics.setTotals('svc_host_cpu_seconds_total', [{ labels: {}, value: hostTimes().busy / 1000 }]);
  metrics.set('svc_host_memory_bytes', by('state', { used: totalmem() - freemem(), free: freemem() }));
}
