// The picture of `svc top` at several sizes, and with texts that a terminal would obey.
import { expect, it } from 'vitest';
import { columnsOf } from '../../../src/cli/fit-columns.ts';
import { frame, type TopState } from '../../../src/cli/top/frame.ts';
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
const state: TopState = { view: 'sandboxes', sort: 'cpu', isPaused: false };

it('shows everything on a wide terminal', () => {
  const lines = frame(usage([sandbox('sb-0123456789ab', 98.2)]), state, { columns: 200, rows: 50 });
  expect(lines).toEqual([
    'svc top  1 sandboxes  by cpu  12:00:00Z',
    'cpu 71.0 % of 2  memory 3.0 GiB of 8.0 GiB',
    'SANDBOX          CPU%      MEM   OF  OWNER  STATE    PROVIDER   IN/S  OUT/S  PIDS  AGE  LEFT  WORKER',
    'sb-0123456789ab  98.2  412 MiB  80%  acme   running  userspace     -      -    41   3m   27m  local',
    'q quit  s sort  o owners  p pause',
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
  const lines = frame(usage(many), state, { columns, rows });
  expect(lines.length).toBeLessThanOrEqual(rows);
  for (const line of lines) {
    expect(columnsOf(line)).toBeLessThanOrEqual(columns);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters.
    expect(line).not.toMatch(/[\x00-\x1f\u202e]/);
  }
  expect(lines.find((line) => line.startsWith('SANDBOX'))).toBeDefined();
});

it('shows owners, a pause, and a failure without losing the picture', () => {
  const owners = frame(
    usage([]),
    { ...state, view: 'owners', isPaused: true, failure: 'Away' },
    { columns: 80, rows: 9 },
  );
  expect(owners[0]).toContain('paused');
  expect(owners).toContainEqual(expect.stringMatching(/^\(none\) +99\.0 +1\.0 MiB +2/));
  expect(owners.at(-1)).toBe('Away; retrying');
});

it('draws 1,000 rows of a plain output without a foot', () => {
  const many = Array.from({ length: 1000 }, (_, at) => sandbox(`sb-${at}`, at));
  const lines = frame(usage(many), state, {
    columns: Number.POSITIVE_INFINITY,
    rows: Number.POSITIVE_INFINITY,
  });
  expect(lines).toHaveLength(1003);
});
