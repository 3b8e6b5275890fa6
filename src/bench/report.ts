// The speed table as text, as results.json and as docs/performance.md.
import { cpus, loadavg, release, totalmem } from 'node:os';
import type { Row } from './row.ts';
import type { Figures } from './stats.ts';

export interface Results {
  host: Record<string, string | number>;
  started_at: string;
  rows: Row[];
}

export function hostFacts(): Results['host'] {
  return {
    node: process.version,
    kernel: release(),
    processor: cpus()[0]?.model ?? 'unknown',
    cpus: cpus().length,
    memory_mb: Math.round(totalmem() / 1_048_576),
    load_1m: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

function cells(row: Row): string[] {
  const shown = ({ p50, p95 }: Figures) => `${p50.toFixed(2)} / ${p95.toFixed(2)} ${row.unit}`;
  const unit = row.ratio === undefined ? ` ${row.unit}` : '';
  const interval = row.interval.map((bound) => bound.toFixed(2)).join('–');
  const judged = `${(row.ratio ?? row.value)?.toFixed(2)}${unit} (${interval})`;
  return [
    row.id,
    row.name,
    shown(row.ours),
    row.baseline ? shown(row.baseline) : '—',
    judged,
    `≤ ${Number(row.target.toFixed(2))}${unit}`,
    row.pass ? 'pass' : 'FAIL',
  ];
}

const HEAD = ['id', 'what', 'ours p50 / p95', 'baseline p50 / p95', 'judged (95 %)', 'bar', ''];

/** Columns that line up, for a terminal. */
export function textTable(rows: readonly Row[]): string {
  const lines = [HEAD, ...rows.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** docs/performance.md: the same table with the host it was measured on. */
export function markdown({ host, started_at, rows }: Results): string {
  const facts = Object.entries(host).map(([name, value]) => `${name} ${value}`);
  const table = [HEAD, HEAD.map(() => '---'), ...rows.map(cells)].map((line) => `| ${line.join(' | ')} |`);
  return [
    '# Performance',
    '',
    'Measured by `npm run bench`: each row is two things timed in turn in one run, and what counts is the ratio of their',
    'medians, since machines differ; where it has a unit, their difference, or the figure itself without a baseline. The baseline of userspace rows is the raw',
    'runner started from Node, building the same root for the same command; that of container rows is the Engine API spoken',
    'by hand, with the same options.',
    '',
    ...table,
    '',
    `Measured ${started_at.slice(0, 10)} on: ${facts.join(', ')}.`,
    '',
  ].join('\n');
}
