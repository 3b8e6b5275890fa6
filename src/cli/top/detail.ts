// One sandbox in `svc top`: what it uses now, its last ten minutes as bars, and its events. Pure.
import { printable } from '../../domain/printable.ts';
import type { SandboxUsage } from '../../schema/usage.ts';
import { bytesText } from '../usage-view.ts';
import { sparkline } from './table.ts';

const LABEL = 14;
/** What stands behind the bars. */
const VALUE = 14;

export function detailLines(
  usage: SandboxUsage | undefined,
  { marked, width, events }: { marked: string; width: number; events: readonly string[] },
): string[] {
  if (usage?.sandbox_id !== marked) return [`Loading ${printable(marked)} …`];
  const { now, points, totals, missing } = usage;
  const line = (label: string, text: string | undefined) =>
    text === undefined ? [] : [`${label.padEnd(LABEL)}${printable(text)}`];
  const graph = (label: string, values: readonly (number | undefined)[], value: string | undefined) =>
    value === undefined
      ? []
      : line(label, `${value.padEnd(VALUE)}${sparkline(values, width - LABEL - VALUE)}`);
  const rate = (bytes: number | undefined) => (bytes === undefined ? undefined : `${bytesText(bytes)}/s`);
  return [
    `SANDBOX ${printable(marked)}`,
    ...line('owner', usage.owner_id ?? '(none)'),
    ...graph(
      'cpu',
      points.map(({ cpu_percent }) => cpu_percent),
      now.cpu_percent === undefined ? undefined : `${now.cpu_percent} %`,
    ),
    ...graph(
      'memory',
      points.map(({ memory_bytes }) => memory_bytes),
      bytesText(now.memory_bytes),
    ),
    ...line('of', bytesText(now.memory_limit_bytes)),
    ...graph(
      'receives',
      points.map(({ rx_bytes_per_second }) => rx_bytes_per_second),
      rate(now.rx_bytes_per_second),
    ),
    ...graph(
      'sends',
      points.map(({ tx_bytes_per_second }) => tx_bytes_per_second),
      rate(now.tx_bytes_per_second),
    ),
    ...line('processes', now.processes?.toString()),
    ...line('cpu time', totals && `${totals.cpu_seconds} s`),
    ...line('peak memory', totals && bytesText(totals.peak_memory_bytes)),
    ...line('commands', totals && String(totals.execs)),
    ...line('out of memory', totals && totals.oom_kills > 0 ? `${totals.oom_kills} processes` : undefined),
    ...Object.entries(missing).flatMap(([name, why]) => line(`no ${name}`, why)),
    ...(events.length > 0 ? ['', 'EVENTS', ...events] : []),
  ];
}
