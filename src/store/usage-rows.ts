// Rows of the ledger as both databases have them, and back.
import {
  AMOUNTS,
  addAmounts,
  noAmounts,
  type UsageAmounts,
  type UsageChange,
  type UsageRecord,
  type UsageRow,
} from './seam/usage.ts';

export interface StoredUsage extends UsageAmounts {
  sandbox_id: string;
  owner_id: string;
  provider: string;
  template: string;
  vcpus: number;
  memory_mb: number;
  started_at: string;
  ended_at: string | null;
  claimed: number;
  settled: number;
  version: number;
  metered_to: string;
  counter: string | null;
  sampled_at: string | null;
  last_cpu_us: number;
  last_rx_bytes: number;
  last_tx_bytes: number;
  last_oom_kills: number;
  peak_memory_bytes: number;
  oom_kills: number;
  estimated: number;
}

export type StoredUsageRow = UsageAmounts & Omit<UsageRow, 'amounts'>;

/** What a change writes into the row of its sandbox: values, and the amounts to add. */
export type StoredChange = Omit<
  StoredUsage,
  'owner_id' | 'provider' | 'template' | 'vcpus' | 'memory_mb' | 'started_at' | 'ended_at' | 'claimed'
>;

export const USAGE_COLUMNS = [
  'sandbox_id',
  'owner_id',
  'provider',
  'template',
  'vcpus',
  'memory_mb',
  'started_at',
  'ended_at',
  'claimed',
  'settled',
  'version',
  'metered_to',
  'counter',
  'sampled_at',
  'last_cpu_us',
  'last_rx_bytes',
  'last_tx_bytes',
  'last_oom_kills',
  'peak_memory_bytes',
  'oom_kills',
  'estimated',
  ...AMOUNTS,
].join(', ');

export function amountsOf(row: UsageAmounts): UsageAmounts {
  return Object.fromEntries(AMOUNTS.map((name) => [name, Number(row[name])])) as unknown as UsageAmounts;
}

export function fromStoredUsage(row: StoredUsage): UsageRecord {
  const { sandbox_id, owner_id, provider, template, vcpus, memory_mb, started_at, version } = row;
  const { ended_at, counter, sampled_at, metered_to, peak_memory_bytes, oom_kills } = row;
  return {
    sandbox_id,
    owner_id,
    provider,
    template,
    vcpus,
    memory_mb,
    started_at,
    version,
    metered_to,
    peak_memory_bytes,
    oom_kills,
    ...(ended_at !== null && { ended_at }),
    claimed: row.claimed === 1,
    settled: row.settled === 1,
    estimated: row.estimated === 1,
    ...(counter !== null &&
      sampled_at !== null && {
        last: {
          counter,
          at: sampled_at,
          cpu_us: row.last_cpu_us,
          rx_bytes: row.last_rx_bytes,
          tx_bytes: row.last_tx_bytes,
          oom_kills: row.last_oom_kills,
        },
      }),
    totals: amountsOf(row),
  };
}

export function toStoredChange(change: UsageChange): StoredChange {
  const { sandbox_id, version, metered_to, last, peak_memory_bytes, oom_kills, hours } = change;
  return {
    sandbox_id,
    version,
    metered_to,
    peak_memory_bytes,
    oom_kills,
    settled: change.settled ? 1 : 0,
    estimated: change.estimated ? 1 : 0,
    counter: last?.counter ?? null,
    sampled_at: last?.at ?? null,
    last_cpu_us: last?.cpu_us ?? 0,
    last_rx_bytes: last?.rx_bytes ?? 0,
    last_tx_bytes: last?.tx_bytes ?? 0,
    last_oom_kills: last?.oom_kills ?? 0,
    ...hours.reduce((sum, { amounts }) => addAmounts(sum, amounts), noAmounts()),
  };
}

export const fromStoredUsageRow = ({
  owner_id,
  hour,
  provider,
  template,
  sandboxes,
  ...amounts
}: StoredUsageRow): UsageRow => ({
  owner_id,
  hour: Number(hour),
  provider,
  template,
  sandboxes: Number(sandboxes),
  amounts: amountsOf(amounts),
});

const HOUR_MS = 3_600_000;

/** The hours of a change, with 1 at the hour in which its sandbox was admitted if this is its first change. */
export function startingHours({
  version,
  started_at,
  hours,
}: UsageChange): { hour: number; amounts: UsageAmounts; begins: number }[] {
  const first = Math.floor(Date.parse(started_at) / HOUR_MS);
  const begins = (hour: number) => (version === 0 && hour === first ? 1 : 0);
  const stored = hours.map(({ hour, amounts }) => ({ hour, amounts, begins: begins(hour) }));
  if (version > 0 || hours.some(({ hour }) => hour === first)) return stored;
  return [{ hour: first, amounts: noAmounts(), begins: 1 }, ...stored];
}
