// The speed table as lines for a terminal, as results.json and as docs/performance.md.
import { cpus, loadavg, release, totalmem } from 'node:os';
import { MEANINGS } from './meanings.ts';
import type { Row } from './row.ts';
import type { Figures } from './stats.ts';

export interface Results {
  host: Record<string, string | number>;
  started_at: string;
  /** What a run of all rows took. */
  seconds?: number;
  rows: Row[];
  /** What this machine lacks for them, or what broke while they were measured. */
  not_run: { id: string; reason: string; broke?: true }[];
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
export function benchSummary({ rows, not_run, seconds }: Results): string {
  const missed = rows.filter(({ pass }) => !pass).length;
  const lacking = not_run.map(({ id, reason }) => `not run: ${id}: ${reason}`);
  const measured = `${rows.length} measured${inMinutes(seconds)}`;
  return [...lacking, `${measured}, ${missed} missed their bar, ${not_run.length} not run.`].join('\n');
}

const inMinutes = (seconds: number | undefined) =>
  seconds === undefined ? '' : ` in ${(seconds / 60).toFixed(1)} min`;

/** The output of `svc bench --list`. */
export function listText(groups: readonly Listed[]): string {
  return groups
    .map(({ about, ids, not_run }) => {
      const lacking = not_run === undefined ? '' : `\n  not run here: ${not_run}`;
      return `${about}\n  ${ids.join(' ')}${lacking}`;
    })
    .join('\n');
}

/** docs/performance.md: what the rows mean, the figures, why rows miss, and the host they were measured on. */
export function markdown({ host, started_at, seconds, rows, not_run }: Results): string {
  const facts = Object.entries(host).map(([name, value]) => `${name} ${value}`);
  const missed = rows.filter(({ pass, limit }) => !pass || limit !== undefined);
  return [
    INTRODUCTION,
    table(MEANING_HEAD, rows.map(meaningCells)),
    '## Rows that miss their bar',
    [
      ...missed.map((row) => `- ${row.id} ${reasonOf(row)}`),
      ...not_run.map(({ id, reason }) => `- ${id}: not run: ${reason}.`),
    ].join('\n'),
    '## Figures',
    'Times are medians and 95th percentiles. The interval in brackets holds the true value with 95 % confidence.',
    table(HEAD, rows.map(cells)),
    [`Measured ${started_at.slice(0, 10)}${inMinutes(seconds)} on: ${facts.join(', ')}.`, ...laterText(rows)]
      .join(' ')
      .concat('\n'),
  ].join('\n\n');
}

function laterText(rows: readonly Row[]): string[] {
  const later = rows.filter(({ started_at }) => started_at !== undefined);
  const ids = (day: string) =>
    later.filter(({ started_at }) => started_at?.startsWith(day)).map(({ id }) => id);
  const days = [...new Set(later.map(({ started_at = '' }) => started_at.slice(0, 10)))].sort();
  return days.map((day) => `On the same machine, in a later run of ${day}: ${ids(day).join(', ')}.`);
}

const INTRODUCTION = `# Performance

\`npm run bench\` measures this page. Each row compares two things that run in turn on the same machine: ours and a baseline,
the same job without the service. What counts is the ratio of their medians, because machines differ: 1.05 means 5 % slower
than the baseline, 0.1 means ten times faster. A row with a unit is judged by the difference, or by its own figure where there
is no baseline.

The baseline of container rows is the Engine API, called by hand with the same options, or the commands of Docker's client as they are
typed, or \`llm-sandbox\` of PyPI over the same engine; \`providers.container.link\` is \`auto\`. The baseline of userspace rows is the
raw runner, started from Node, which builds the same root for the same command. The baseline of worker rows is a sandbox of the
server itself.

## What the rows mean`;

const MEANING_HEAD = ['id', 'what it means for you', 'result', 'bar', ''];

function meaningCells(row: Row): string[] {
  const result = `${(row.ratio ?? row.value)?.toFixed(2)}${unitOf(row)}`;
  return [row.id, MEANINGS[row.id]?.text ?? row.name, result, barText(row), row.pass ? 'pass' : 'FAIL'];
}

function reasonOf({ id, limit, interval, target }: Row): string {
  if (limit !== undefined) return `meets a limit: ${limit}`;
  const miss = MEANINGS[id]?.miss;
  if (miss !== undefined) return `misses: ${miss}`;
  return Math.min(...interval) <= target
    ? 'misses by less than the measurement can tell: its interval contains the bar.'
    : 'misses; the reason is not known yet.';
}

const table = (head: readonly string[], lines: readonly string[][]) =>
  [head, head.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
