// What sandboxes use, as text for people.
import { printable } from '../domain/printable.ts';
import type { GuestUsage } from '../schema/guest-usage.ts';
import type { SandboxUsage, SandboxUsageRow, UsageReport, UsageRow, UsageTotals } from '../schema/usage.ts';
import { line } from './print.ts';
import { type Column, facts, table } from './render.ts';

const KIBI = 1024;
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** 412 MiB, 1.2 GiB; undefined stays undefined. */
export function bytesText(bytes: number | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / KIBI ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
}

const rate = (bytes: number | undefined) => (bytes === undefined ? undefined : `${bytesText(bytes)}/s`);
const hours = (seconds: number) => (seconds / 3600).toFixed(3);
/** MiB × seconds as GiB × hours. */
const gibHours = (mib: number) => (mib / KIBI / 3600).toFixed(3);

type Amounts = Pick<UsageRow, keyof UsageTotals>;
const AMOUNTS: Column<Amounts>[] = [
  { title: 'hours', value: (row) => hours(row.sandbox_seconds), align: 'right' },
  { title: 'vcpu h', value: (row) => hours(row.vcpu_seconds), align: 'right' },
  { title: 'cpu h', value: (row) => hours(row.cpu_seconds), align: 'right' },
  { title: 'gib h', value: (row) => gibHours(row.memory_mib_seconds_allocated), align: 'right' },
  { title: 'used gib h', value: (row) => gibHours(row.memory_mib_seconds), align: 'right' },
  { title: 'received', value: (row) => bytesText(row.rx_bytes), align: 'right' },
  { title: 'sent', value: (row) => bytesText(row.tx_bytes), align: 'right' },
  { title: 'execs', value: ({ execs }) => execs, align: 'right' },
];

export function sandboxUsageFacts({
  sandbox_id,
  owner_id,
  sampled_at,
  now,
  missing,
  totals,
  guest,
}: SandboxUsage): string {
  const limit = bytesText(now.memory_limit_bytes);
  return facts([
    ['sandbox', sandbox_id],
    ['owner', owner_id],
    ['measured', sampled_at],
    ['cpu', now.cpu_percent === undefined ? undefined : `${now.cpu_percent} %`],
    ['memory', now.memory_bytes === undefined ? undefined : `${bytesText(now.memory_bytes)} of ${limit}`],
    ['processes', now.processes],
    ['disk', bytesText(now.disk_bytes)],
    ['receives', rate(now.rx_bytes_per_second)],
    ['sends', rate(now.tx_bytes_per_second)],
    ...(guest ? guestEntries(guest) : []),
    ...(totals ? totalEntries(totals, missing) : []),
    ...Object.entries(missing).map(([name, why]) => [`no ${printable(name)}`, why] as const),
  ]);
}

/** A sandbox may say anything of itself. */
const guestEntries = ({ disks, memory_bytes, memory_total_bytes }: GuestUsage) => [
  ...disks.map(
    ({ path, used_bytes, total_bytes }) =>
      [`says disk ${printable(path)}`, `${bytesText(used_bytes)} of ${bytesText(total_bytes)}`] as const,
  ),
  [
    'says memory',
    memory_bytes === undefined ? undefined : `${bytesText(memory_bytes)} of ${bytesText(memory_total_bytes)}`,
  ] as const,
];

/** What was not measured has no number: a 0 would be one. */
const totalEntries = (totals: SandboxUsageRow, { network }: SandboxUsage['missing']) =>
  [
    ['since', totals.started_at],
    ['ended', totals.ended_at],
    [
      'allocated',
      `${hours(totals.vcpu_seconds)} vcpu h, ${gibHours(totals.memory_mib_seconds_allocated)} GiB h`,
    ],
    ['cpu time', `${totals.cpu_seconds} s`],
    ['peak memory', bytesText(totals.peak_memory_bytes)],
    ['received', network === undefined ? bytesText(totals.rx_bytes) : undefined],
    ['sent', network === undefined ? bytesText(totals.tx_bytes) : undefined],
    ['out of memory', totals.oom_kills],
    ['commands', totals.execs],
  ] as const;

const complete = ({ complete_until }: UsageReport) =>
  complete_until === undefined ? '' : `\n${line`Complete until ${complete_until}.`}`;

export function usageReport(report: UsageReport): string {
  const grouped = report.rows.some(({ provider }) => provider !== undefined) ? 'provider' : 'template';
  const isGrouped = report.rows.some((row) => row[grouped] !== undefined);
  const columns: Column<UsageRow>[] = [
    { title: 'from', value: ({ from }) => from },
    ...(isGrouped ? [{ title: grouped, value: (row: UsageRow) => row[grouped] }] : []),
    { title: 'sandboxes', value: ({ sandboxes }) => sandboxes, align: 'right' },
    ...AMOUNTS,
  ];
  const sandboxes = report.rows.reduce((sum, row) => sum + row.sandboxes, 0);
  const total: UsageRow = { from: 'total', sandboxes, ...report.total };
  const rows = report.rows.length === 0 ? [] : [...report.rows, total];
  return table(rows, columns, 'Nothing was used.') + complete(report);
}

export function ownersReport(report: UsageReport): string {
  const columns: Column<UsageRow>[] = [
    { title: 'owner', value: ({ owner_id }) => owner_id || '(none)' },
    { title: 'sandboxes', value: ({ sandboxes }) => sandboxes, align: 'right' },
    ...AMOUNTS,
  ];
  return table(report.rows, columns, 'Nothing was used.') + complete(report);
}

export const usedSandboxes = (rows: readonly SandboxUsageRow[]): string =>
  table<SandboxUsageRow>(
    rows,
    [
      { title: 'sandbox', value: ({ sandbox_id }) => sandbox_id },
      { title: 'started', value: ({ started_at }) => started_at },
      { title: 'ended', value: ({ ended_at }) => ended_at },
      ...AMOUNTS,
    ],
    'No sandbox ran.',
  );
