// Rows of the ledger as the API shows them.
import { defined } from '../../domain/defined.ts';
import type { Reading } from '../../providers/reading.ts';
import type { SandboxUsageRow, UsageRow, UsageTotals } from '../../schema/usage.ts';
import {
  addAmounts,
  noAmounts,
  type UsageRow as StoredRow,
  type UsageAmounts,
  type UsageRecord,
} from '../../store/seam/usage.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Latest } from './latest.ts';
import { HOUR_MS } from './spread.ts';

export function amountsView(amounts: UsageAmounts): UsageTotals {
  const { sandbox_ms, vcpu_ms, memory_mb_ms, cpu_us, used_mb_ms, rx_bytes, tx_bytes, execs, exec_ms } =
    amounts;
  return {
    sandbox_seconds: sandbox_ms / 1000,
    vcpu_seconds: vcpu_ms / 1000,
    memory_mib_seconds_allocated: memory_mb_ms / 1000,
    cpu_seconds: cpu_us / 1e6,
    memory_mib_seconds: used_mb_ms / 1000,
    rx_bytes,
    tx_bytes,
    execs,
    exec_seconds: exec_ms / 1000,
  };
}

/** The sum of whole numbers, not of what is shown. */
export function totalsOf(rows: readonly StoredRow[]): UsageTotals {
  return amountsView(rows.reduce((sum, { amounts }) => addAmounts(sum, amounts), noAmounts()));
}

export function rowView(
  { hour, sandboxes, amounts, ...fields }: StoredRow,
  by: readonly ('owner_id' | 'provider' | 'template')[],
): UsageRow {
  return {
    from: new Date(hour * HOUR_MS).toISOString(),
    ...Object.fromEntries(by.map((name) => [name, fields[name]])),
    sandboxes,
    ...amountsView(amounts),
  };
}

export function sandboxView(record: UsageRecord): SandboxUsageRow {
  const { ended_at, totals, claimed, settled, version, last, ...facts } = record;
  return { ...facts, ...(ended_at !== undefined && { ended_at }), ...amountsView(totals) };
}

/** What is measured now; what is not measured is absent. */
export const measuredNow = ({ reading, rates }: Pick<Latest, 'reading' | 'rates'>) =>
  defined({
    ...rates,
    memory_bytes: reading?.memory_bytes,
    disk_bytes: reading?.disk_bytes,
    processes: reading?.processes,
  });

const NO_NETWORK = 'The provider measures no network.';
const NO_DISK = 'The provider measures no disk.';

/** Why values are absent: never a 0 that was not measured. */
export function missingOf(
  { vm_id, provider = '' }: Partial<Pick<SandboxRecord, 'vm_id' | 'provider'>>,
  reading: Reading | undefined,
  isMeasuring: boolean,
): Record<string, string> {
  const all = ['cpu_percent', 'memory_bytes', 'processes', 'disk_bytes', 'network'];
  const everything = (reason: string) => Object.fromEntries(all.map((name) => [name, reason]));
  if (!isMeasuring) return everything('usage.enabled is false.');
  if (vm_id !== undefined) return everything('It shares a VM of the pool, which is measured as one.');
  if (provider === 'hosted' || provider === 'custom')
    return everything('A service elsewhere runs it, and does not report what it uses.');
  if (!reading) return everything('It has ended, was not measured yet, or its host has no cgroup of it.');
  return {
    ...(reading.cpu_us === undefined && { cpu_percent: 'Its host counts no processor time of it.' }),
    ...(reading.memory_bytes === undefined && { memory_bytes: 'Its host does not count its memory.' }),
    ...(reading.processes === undefined && { processes: 'Its host does not count its processes.' }),
    ...(reading.disk_bytes === undefined && { disk_bytes: NO_DISK }),
    ...(reading.rx_bytes === undefined && { network: NO_NETWORK }),
  };
}
