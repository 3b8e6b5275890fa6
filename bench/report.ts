// The speed table as lines for a terminal, as results.json and as docs/performance.md.
import { cpus, loadavg, release, totalmem } from 'node:os';
import type { Row } from './row.ts';
import type { Figures } from './stats.ts';

export interface Results {
  host: Record<string, string | number>;
  started_at: string;
  rows: Row[];
  /** What this machine lacks for them. */
  not_run: { id: string; reason: string }[];
}

/** Rows that share a world. */
export interface Listed {
  about: string;
  ids: readonly string[];
  /** Why they cannot be measured here. */
  not_run?: string;
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

const unitOf = ({ ratio, unit }: Row) => (ratio === undefined ? ` ${unit}` : '');

const shown = ({ unit }: Row, { p50, p95 }: Figures) => `${p50.toFixed(2)} / ${p95.toFixed(2)} ${unit}`;

function judgedText(row: Row): string {
  const interval = row.interval.map((bound) => bound.toFixed(2)).join('–');
  return `${(row.ratio ?? row.value)?.toFixed(2)}${unitOf(row)} (${interval})`;
}

const barText = (row: Row) => `≤ ${Number(row.target.toFixed(2))}${unitOf(row)}`;

function cells(row: Row): string[] {
  return [
    row.id,
    row.name,
    shown(row, row.ours),
    row.baseline ? shown(row, row.baseline) : '—',
    judgedText(row),
    row.was === undefined ? '—' : row.was.toFixed(2),
    barText(row),
    row.pass ? 'pass' : 'FAIL',
  ];
}

const HEAD = ['id', 'what', 'ours p50 / p95', 'baseline p50 / p95', 'judged (95 %)', 'last run', 'bar', ''];
const ID_WIDTH = 26;

/** One row, for a terminal, as soon as it has ended. */
export function rowText(row: Row): string {
  const against = row.baseline ? ` against ${shown(row, row.baseline)}` : '';
  const was = row.was === undefined ? '' : `, was ${row.was.toFixed(2)}`;
  const verdict = `${row.pass ? 'pass' : 'FAIL'}  ${row.id.padEnd(ID_WIDTH)}`;
  const limit = row.limit === undefined ? '' : `\n      ${row.limit}`;
  return `${verdict}${judgedText(row)}, bar ${barText(row)}${was}: ${shown(row, row.ours)}${against}${limit}`;
}

/** What stands below the rows. */
export function benchSummary({ rows, not_run }: Results): string {
  const missed = rows.filter(({ pass }) => !pass).length;
  const lacking = not_run.map(({ id, reason }) => `not run: ${id}: ${reason}`);
  return [...lacking, `${rows.length} measured, ${missed} missed their bar, ${not_run.length} not run.`].join(
    '\n',
  );
}

/** Of `svc bench --list`. */
export function listText(groups: readonly Listed[]): string {
  return groups
    .map(({ about, ids, not_run }) => {
      const lacking = not_run === undefined ? '' : `\n  not run here: ${not_run}`;
      return `${about}\n  ${ids.join(' ')}${lacking}`;
    })
    .join('\n');
}

/** docs/performance.md: the same table with the host it was measured on. */
export function markdown({ host, started_at, rows, not_run }: Results): string {
  const facts = Object.entries(host).map(([name, value]) => `${name} ${value}`);
  const limits = rows.filter(({ limit }) => limit !== undefined);
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
    ...limits.map(({ id, limit }) => `- ${id} meets a limit: ${limit}`),
    ...not_run.map(({ id, reason }) => `- ${id}: not run: ${reason}.`),
    ...(limits.length + not_run.length > 0 ? [''] : []),
    `Measured ${started_at.slice(0, 10)} on: ${facts.join(', ')}.`,
    '',
  ].join('\n');
}
