// The picture of `svc top`: from what the server answered and the size of the terminal to lines. Pure. All texts of the server are made
// printable, and each line fits the width, so that no guest moves a line.
import { printable } from '../../domain/printable.ts';
import type { Event } from '../../schema/event.ts';
import type { LiveOwner, LiveSandbox, LiveUsage, SandboxUsage } from '../../schema/usage.ts';
import type { Worker } from '../../schema/worker.ts';
import { bytesText } from '../usage-view.ts';
import { detailLines } from './detail.ts';
import type { TopState } from './state.ts';
import { EXTENSION } from './state.ts';
import { type Column, cut, spanText, tableOf } from './table.ts';

export interface TopContent {
  usage: LiveUsage;
  workers?: readonly Worker[] | undefined;
  /** The marked sandbox. */
  detail?: SandboxUsage | undefined;
  /** Oldest first. */
  events: readonly Event[];
}

export interface Size {
  columns: number;
  /** Infinity: all rows. */
  rows: number;
}

export interface Frame {
  lines: string[];
  /** Index of the line that the cursor is on. */
  marked?: number;
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

const WORKERS: readonly Column<Worker>[] = [
  { title: 'WORKER', value: ({ id }) => id, isText: true },
  { title: 'STATUS', value: ({ status, drain }) => (drain ? `${status}, drains` : status), isText: true },
  { title: 'SANDBOXES', value: ({ active_sandboxes }) => String(active_sandboxes) },
  { title: 'FREE', value: ({ free_sandboxes }) => free_sandboxes?.toString() },
  { title: 'HEARTBEAT', value: ({ last_heartbeat }, now) => spanText(now - Date.parse(last_heartbeat)) },
  { title: 'PROVIDERS', value: ({ providers }) => providers.join(', '), isText: true },
  { title: 'VERSION', value: ({ version }) => version, isText: true },
];

const KEYS = 'q quit  s sort  r reverse  / filter  o owners  w workers  e events  Enter detail  ? help';
const HELP = [
  's  sort by the next column          r  smallest first',
  '/  show only what has a text        Esc  back, and show all again',
  'o  owners      w  workers           e  events below the table',
  'arrows, Page Up, Page Down, Home, End  move the cursor',
  'Enter  one sandbox                  p  pause',
  't  shell in it                      l  its last line of output',
  `+  let it live ${EXTENSION} from now          x  end it; y confirms`,
  'q  quit',
];
const EVENT_LINES = 6;

/** The sandboxes of the table, in the order in which they are shown. */
export function shownSandboxes({ sandboxes }: LiveUsage, { isReversed }: TopState): readonly LiveSandbox[] {
  return isReversed ? [...sandboxes].reverse() : sandboxes;
}

/** Lines of at most `size.columns`; columns that have no room are left out from the right. */
export function frame(content: TopContent, state: TopState, size: Size): Frame {
  const { usage, events } = content;
  const head = [headOf(usage, state), hostOf(usage)].filter((line) => line !== '');
  const foot = Number.isFinite(size.rows)
    ? [...(state.hasEvents ? eventLines(events) : []), footOf(state)]
    : [];
  const room = Math.max(1, size.rows - head.length - foot.length);
  const body = bodyOf(content, state, size.columns);
  const at = state.view === 'sandboxes' ? shownSandboxes(usage, state).findIndex(isMarked(state)) : -1;
  const [title = '', ...rows] = body;
  // The cursor is always in sight.
  const first = Math.max(0, at - (room - 2));
  const shown = [title, ...rows.slice(first, first + Math.max(0, room - 1))].slice(0, room);
  const lines = [...head, ...shown, ...(state.hasEvents ? filler(room - shown.length) : []), ...foot].map(
    (line) => cut(line, size.columns),
  );
  return { lines, ...(at >= 0 && { marked: head.length + 1 + at - first }) };
}

const isMarked =
  ({ marked }: TopState) =>
  ({ sandbox_id }: LiveSandbox) =>
    sandbox_id === marked;

/** Events stay at the bottom. */
const filler = (count: number) => Array.from({ length: Math.max(0, count) }, () => '');

function bodyOf(content: TopContent, { view, ...state }: TopState, width: number): string[] {
  const { usage, workers = [], detail, events } = content;
  const now = Date.parse(usage.sampled_at);
  const terms = { now, width };
  if (view === 'help') return HELP;
  if (view === 'owners') return tableOf(usage.owners, OWNERS, terms);
  if (view === 'workers') return tableOf(workers, WORKERS, terms);
  if (view === 'sandbox') {
    const own = events.filter(({ sandbox_id }) => sandbox_id === state.marked);
    return detailLines(detail, { marked: state.marked ?? '', width, events: own.map(eventLine) });
  }
  return tableOf(shownSandboxes(usage, { view, ...state }), SANDBOXES, terms);
}

function headOf(
  { matching, sampled_at }: LiveUsage,
  { sort, isPaused, isReversed, filter }: TopState,
): string {
  const order = isReversed ? `by ${sort}, the smallest first` : `by ${sort}`;
  const filtered = filter === '' ? '' : `  with ${printable(filter)}`;
  const paused = isPaused ? '  paused' : '';
  const noun = matching === 1 ? 'sandbox' : 'sandboxes';
  return `svc top  ${matching} ${noun}  ${order}${filtered}  ${printable(sampled_at.slice(11, 19))}Z${paused}`;
}

const BAR = 20;

function hostOf({ host }: LiveUsage): string {
  if (!host) return '';
  const { cpus, cpu_percent, memory_bytes, memory_total_bytes } = host;
  const memory = `memory ${bar(memory_bytes / memory_total_bytes)} ${bytesText(memory_bytes)} of ${bytesText(memory_total_bytes)}`;
  return `cpu ${bar(cpu_percent / 100)} ${percent(cpu_percent)} % of ${cpus}  ${memory}`;
}

function bar(share: number): string {
  const full = Math.round(Math.max(0, Math.min(1, share)) * BAR);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR - full)}]`;
}

function footOf({ question, notice, filter }: TopState): string {
  if (question?.kind === 'filter') return `filter: ${printable(filter)}_`;
  if (question) return `End ${printable(question.id)}? Its files are lost. y: end it; any other key: no`;
  return notice === undefined ? KEYS : printable(notice);
}

const eventLines = (events: readonly Event[]) => ['EVENTS', ...events.slice(-EVENT_LINES).map(eventLine)];

function eventLine({ timestamp, type, sandbox_id = '-', owner_id = '' }: Event): string {
  return printable(`${timestamp.slice(11, 19)}  ${type}  ${sandbox_id}  ${owner_id}`).trimEnd();
}

function shareOf({ memory_bytes, memory_limit_bytes }: LiveSandbox): string | undefined {
  if (memory_bytes === undefined || memory_limit_bytes === 0) return undefined;
  return `${Math.round((memory_bytes / memory_limit_bytes) * 100)}%`;
}
