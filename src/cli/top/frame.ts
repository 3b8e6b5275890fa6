// The picture of `svc top`: from an answer and the size of the terminal to lines. Pure. All texts of the server are made printable,
// and each line fits the width, so that no guest moves a line.
import { printable } from '../../domain/printable.ts';
import type { LiveOwner, LiveSandbox, LiveUsage } from '../../schema/usage.ts';
import { columnsOf } from '../fit-columns.ts';
import { bytesText } from '../usage-view.ts';

export interface TopState {
  view: 'sandboxes' | 'owners';
  sort: string;
  isPaused: boolean;
  /** What went wrong with the last request; the picture before stays. */
  failure?: string | undefined;
}

export interface Size {
  columns: number;
  /** Infinity: all rows. */
  rows: number;
}

interface Column<Row> {
  title: string;
  value(row: Row, now: number): string | undefined;
  /** Columns of text are aligned to the left. */
  isText?: true;
}

const percent = (value: number | undefined) => value?.toFixed(1);
const rate = (value: number | undefined) => (value === undefined ? undefined : bytesText(value));

const SANDBOXES: readonly Column<LiveSandbox>[] = [
  { title: 'SANDBOX', value: ({ sandbox_id }) => sandbox_id, isText: true },
  { title: 'CPU%', value: ({ cpu_percent }) => percent(cpu_percent) },
  { title: 'MEM', value: ({ memory_bytes }) => bytesText(memory_bytes) },
  { title: 'OF', value: shareOf },
  { title: 'OWNER', value: ({ owner_id }) => owner_id, isText: true },
  { title: 'STATE', value: ({ state }) => state, isText: true },
  { title: 'PROVIDER', value: ({ provider }) => provider, isText: true },
  { title: 'IN/S', value: ({ rx_bytes_per_second }) => rate(rx_bytes_per_second) },
  { title: 'OUT/S', value: ({ tx_bytes_per_second }) => rate(tx_bytes_per_second) },
  { title: 'PIDS', value: ({ processes }) => processes?.toString() },
  { title: 'AGE', value: ({ created_at }, now) => spanText(now - Date.parse(created_at)) },
  { title: 'LEFT', value: ({ expires_at }, now) => spanText(Date.parse(expires_at) - now) },
  { title: 'WORKER', value: ({ worker_id }) => worker_id, isText: true },
];

const OWNERS: readonly Column<LiveOwner>[] = [
  { title: 'OWNER', value: ({ owner_id }) => owner_id || '(none)', isText: true },
  { title: 'CPU%', value: ({ cpu_percent }) => percent(cpu_percent) },
  { title: 'MEM', value: ({ memory_bytes }) => bytesText(memory_bytes) },
  { title: 'SANDBOXES', value: ({ sandboxes }) => String(sandboxes) },
  { title: 'IN/S', value: ({ rx_bytes_per_second }) => rate(rx_bytes_per_second) },
  { title: 'OUT/S', value: ({ tx_bytes_per_second }) => rate(tx_bytes_per_second) },
];

const LONGEST = 32;
const GAP = '  ';
const KEYS = 'q quit  s sort  o owners  p pause';

/** Lines of at most `size.columns`; columns that have no room are left out from the right. */
export function frame(usage: LiveUsage, state: TopState, size: Size): string[] {
  const now = Date.parse(usage.sampled_at);
  const head = [headOf(usage, state), hostOf(usage)].filter((line) => line !== '');
  const rows =
    state.view === 'owners'
      ? tableOf(usage.owners, OWNERS, now, size.columns)
      : tableOf(usage.sandboxes, SANDBOXES, now, size.columns);
  const room = Math.max(1, size.rows - head.length - 1);
  const body = rows.slice(0, room);
  const foot = state.failure === undefined ? KEYS : `${printable(state.failure)}; retrying`;
  return [...head, ...body, ...(Number.isFinite(size.rows) ? [foot] : [])].map((line) =>
    cut(line, size.columns),
  );
}

function headOf({ matching, sampled_at }: LiveUsage, { sort, isPaused }: TopState): string {
  const paused = isPaused ? '  paused' : '';
  return `svc top  ${matching} sandboxes  by ${sort}  ${printable(sampled_at.slice(11, 19))}Z${paused}`;
}

function hostOf({ host }: LiveUsage): string {
  if (!host) return '';
  const { cpus, cpu_percent, memory_bytes, memory_total_bytes } = host;
  return `cpu ${percent(cpu_percent)} % of ${cpus}  memory ${bytesText(memory_bytes)} of ${bytesText(memory_total_bytes)}`;
}

function shareOf({ memory_bytes, memory_limit_bytes }: LiveSandbox): string | undefined {
  if (memory_bytes === undefined || memory_limit_bytes === 0) return undefined;
  return `${Math.round((memory_bytes / memory_limit_bytes) * 100)}%`;
}

/** 45s, 3m, 2h, 5d. */
function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

function tableOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[], now: number, width: number) {
  const cells = rows.map((row) =>
    columns.map(({ value }) => cut(printable(String(value(row, now) ?? '-')), LONGEST)),
  );
  const widths = columns.map(({ title }, at) =>
    cells.reduce((most, row) => Math.max(most, columnsOf(row[at] ?? '')), title.length),
  );
  const shown = fitting(widths, width);
  const line = (texts: readonly string[]) =>
    texts
      .slice(0, shown)
      .map((text, at) => pad(text, widths[at] ?? 0, columns[at]?.isText === true))
      .join(GAP)
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...cells.map(line)];
}

/** How many columns have room; always one. */
function fitting(widths: readonly number[], width: number): number {
  let used = -GAP.length;
  const at = widths.findIndex((each) => {
    used += each + GAP.length;
    return used > width;
  });
  return at < 0 ? widths.length : Math.max(1, at);
}

function pad(text: string, width: number, isText: boolean): string {
  const space = ' '.repeat(Math.max(0, width - columnsOf(text)));
  return isText ? text + space : space + text;
}

function cut(text: string, width: number): string {
  if (columnsOf(text) <= width) return text;
  let [kept, used] = ['', 0];
  for (const character of text) {
    used += columnsOf(character);
    if (used > width) break;
    kept += character;
  }
  return kept;
}
