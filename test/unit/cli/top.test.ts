// The picture of `svc top` at several sizes, and with texts that a terminal would obey.
import { expect, it } from 'vitest';
import { columnsOf } from '../../../src/cli/fit-columns.ts';
import { frame, type TopContent } from '../../../src/cli/top/frame.ts';
import { keysOf } from '../../../src/cli/top/keys.ts';
import { type Action, firstState, pressed, type TopState } from '../../../src/cli/top/state.ts';
import { sparkline } from '../../../src/cli/top/table.ts';
import type { LiveSandbox, LiveUsage } from '../../../src/schema/usage.ts';

const MIB = 1024 * 1024;
const AT = '2026-11-22T12:00:00.000Z';
const sandbox = (id: string, cpu_percent: number, more: Partial<LiveSandbox> = {}): LiveSandbox => ({
  ...{ sandbox_id: id, owner_id: 'acme', provider: 'userspace', state: 'running', worker_id: 'local' },
  ...{ vcpus: 1, memory_limit_bytes: 512 * MIB, memory_bytes: 412 * MIB, processes: 41, cpu_percent },
  ...{ created_at: '2026-11-22T11:57:00.000Z', expires_at: '2026-11-22T12:27:00.000Z', ...more },
});
const usage = (sandboxes: LiveSandbox[]): LiveUsage => ({
  ...{ sampled_at: AT, interval_seconds: 10, matching: sandboxes.length, sandboxes },
  host: { cpus: 2, cpu_percent: 71, memory_bytes: 3 * 1024 * MIB, memory_total_bytes: 8 * 1024 * MIB },
  owners: [
    {
      owner_id: '',
      sandboxes: 2,
      cpu_percent: 99,
      memory_bytes: MIB,
      rx_bytes_per_second: 0,
      tx_bytes_per_second: 0,
    },
  ],
});
const content = (sandboxes: LiveSandbox[], more: Partial<TopContent> = {}): TopContent => ({
  ...{ usage: usage(sandboxes), events: [], ...more },
});
const state: TopState = firstState({ view: 'sandboxes', sort: 'cpu' });

it('shows everything on a wide terminal', () => {
  const { lines } = frame(content([sandbox('sb-0123456789ab', 98.2)]), state, { columns: 200, rows: 50 });
  expect(lines).toEqual([
    'svc top  1 sandbox  by cpu  12:00:00Z',
    'cpu [##############------] 71.0 % of 2  memory [########------------] 3.0 GiB of 8.0 GiB',
    'SANDBOX          CPU%      MEM   OF  OWNER  STATE    PROVIDER   IN/S  OUT/S  PIDS  AGE  LEFT  WORKER',
    'sb-0123456789ab  98.2  412 MiB  80%  acme   running  userspace     -      -    41   3m   27m  local',
    'q quit  s sort  r reverse  / filter  o owners  w workers  e events  Enter detail  ? help',
  ]);
});

it.each([
  [40, 10],
  [80, 24],
  [12, 5],
  [200, 50],
])('fits %i columns and %i rows, whatever the texts are', (columns, rows) => {
  const hostile = '\x1b[2J日本語\u202e\n'.repeat(9);
  const many = Array.from({ length: 60 }, (_, at) => sandbox(`sb-${at}`, at, { owner_id: hostile }));
  const event = {
    id: 1,
    type: 'sandbox.running',
    timestamp: AT,
    sandbox_id: hostile,
    owner_id: hostile,
  } as const;
  const all = content(many, { events: [event, event] });
  const { lines, marked } = frame(all, { ...state, hasEvents: rows > 5, marked: 'sb-59' }, { columns, rows });
  expect(lines[marked ?? 0]).toMatch(/^sb-59/);
  expect(lines.length).toBeLessThanOrEqual(rows);
  for (const line of lines) {
    expect(columnsOf(line)).toBeLessThanOrEqual(columns);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters.
    expect(line).not.toMatch(/[\x00-\x1f\u202e]/);
  }
  expect(lines.find((line) => line.startsWith('SANDBOX'))).toBeDefined();
});

it('shows owners, a pause, and a failure without losing the picture', () => {
  const { lines: owners } = frame(
    content([]),
    { ...state, view: 'owners', isPaused: true, notice: 'Away. Retrying.' },
    { columns: 80, rows: 9 },
  );
  expect(owners[0]).toContain('paused');
  expect(owners).toContainEqual(expect.stringMatching(/^\(none\) +99\.0 +1\.0 MiB +2/));
  expect(owners.at(-1)).toBe('Away. Retrying.');
});

it('draws 1,000 rows of a plain output without a foot', () => {
  const many = Array.from({ length: 1000 }, (_, at) => sandbox(`sb-${at}`, at));
  const { lines } = frame(content(many), state, {
    columns: Number.POSITIVE_INFINITY,
    rows: Number.POSITIVE_INFINITY,
  });
  expect(lines).toHaveLength(1003);
});

it('shows one sandbox with its last minutes as bars, and says what is not measured', () => {
  const points = [10, 0, undefined, 80].map((cpu_percent) => ({
    at: AT,
    ...(cpu_percent !== undefined && { cpu_percent }),
  }));
  const detail = {
    ...{ sandbox_id: 'sb-a', owner_id: 'acme', now: { cpu_percent: 80, memory_limit_bytes: 512 * MIB } },
    ...{ missing: { network: 'The provider measures no network.' }, step_seconds: 10, points },
  };
  const { lines } = frame(
    content([], { detail }),
    { ...state, view: 'sandbox', marked: 'sb-a' },
    { columns: 60, rows: 20 },
  );
  expect(lines).toContainEqual('cpu           80 %          ▂▁ █');
  expect(lines).toContainEqual('no network    The provider measures no network.');
  expect(sparkline([1, 2, 3], 2)).toBe('▆█');
  // What another sandbox uses is never shown under this one's name.
  const other = frame(
    content([], { detail }),
    { ...state, view: 'sandbox', marked: 'sb-b' },
    { columns: 60, rows: 20 },
  );
  expect(other.lines).toContainEqual('Loading sb-b …');
});

it('keys move the cursor, filter, and end a sandbox only after y', () => {
  const now: TopState = { ...state };
  const ids = ['sb-a', 'sb-b', 'sb-c'];
  const press = (...keys: string[]) =>
    keys.map((key) => pressed(now, key, ids)).filter((action): action is Action => action !== undefined);
  expect(press('x')).toEqual([]);
  press('down', 'down');
  expect(now.marked).toBe('sb-b');
  press('end', 'down');
  expect(now.marked).toBe('sb-c');
  expect(press('x', 'n', 'x', 'y')).toEqual([{ kind: 'end', id: 'sb-c' }]);
  expect(press('t', '+')).toEqual([
    { kind: 'shell', id: 'sb-c' },
    { kind: 'extend', id: 'sb-c' },
  ]);
  press('/', 'q', 'x', 'backspace', 'enter');
  expect(now).toMatchObject({ filter: 'q', question: undefined });
  press('s', 'r', 'o');
  expect(now).toMatchObject({ sort: 'memory', isReversed: true, view: 'owners' });
  // A row that is not in sight is not acted on.
  expect(press('x', 'y')).toEqual([]);
  press('escape', 'escape');
  expect(now).toMatchObject({ view: 'sandboxes', filter: '' });
  expect(press('\u0003')).toEqual([{ kind: 'quit' }]);
});

it('reads keys from what a terminal sends', () => {
  expect(keysOf('a\x1b[A\x1b[6~\r\x1b[?1;2c\x1b')).toEqual(['a', 'up', 'pagedown', 'enter', 'escape']);
});
