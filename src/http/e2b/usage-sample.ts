// What a sandbox uses now, measured inside it: the processes that it sees are its own under every provider.
import type { Caller } from '../../control/api/caller.ts';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { SandboxUsage } from '../../schema/usage.ts';

const MEBIBYTE = 1024 * 1024;
/** Between the two looks at the clocks of processes. */
const GAP_MS = 200;
const MARK = '--svc--';
/** Clock ticks and pages of x86-64 and aarch64 Linux with 4 KiB pages. */
const TICK_MS = 10;
const PAGE = 4096;
const SCRIPT = [
  'cat /proc/[0-9]*/stat 2>/dev/null',
  `echo ${MARK}; sleep 0.${GAP_MS / 100}; cat /proc/[0-9]*/stat 2>/dev/null`,
  `echo ${MARK}; df -kP . 2>/dev/null | tail -n 1; date +%s`,
].join('; ');

export interface UsageSample {
  timestamp: string;
  timestampUnix: number;
  cpuCount: number;
  /** Percent of one processor. */
  cpuUsedPct: number;
  /** Bytes, as all that follow. */
  memUsed: number;
  memTotal: number;
  memCache: number;
  diskUsed: number;
  diskTotal: number;
}

interface Asking {
  caller: Caller;
  signal: AbortSignal;
  hold: Hold;
}

/** Takes about a quarter of a second. Throws as an exec does. */
export async function sampleOf(
  { exec }: Pick<ControlPlane, 'exec'>,
  { id, vcpus, memory_mb }: Sandbox,
  { caller, signal, hold }: Asking,
): Promise<UsageSample> {
  const { stdout } = await exec.run(id, { command: SCRIPT, timeout: '10s' }, caller, signal, hold);
  const [before = '', after = '', rest = ''] = String(stdout).split(`${MARK}\n`);
  const [disk = '', seconds = ''] = rest.trim().split('\n');
  const timestampUnix = Number(seconds);
  if (!Number.isInteger(timestampUnix) || timestampUnix === 0)
    throw new ServiceError('provider_error', 'The sandbox did not report what it uses.');
  const [, total = 0, used = 0] = disk.trim().split(/\s+/).map(Number);
  return {
    timestamp: new Date(timestampUnix * 1000).toISOString(),
    timestampUnix,
    cpuCount: vcpus,
    cpuUsedPct: percentOf(before, after),
    memUsed: sum(after, (fields) => fields[RSS] ?? 0) * PAGE,
    memTotal: memory_mb * MEBIBYTE,
    memCache: 0,
    diskUsed: (used || 0) * 1024,
    diskTotal: (total || 0) * 1024,
  };
}

/** Points that the server measured before `now`. Those without processor or memory are left out; disks are those of `now` where none is measured. */
export function earlierSamples(now: UsageSample, points: SandboxUsage['points']): UsageSample[] {
  return points.flatMap(({ at, cpu_percent, memory_bytes, disk_bytes }) => {
    const timestampUnix = Math.floor(Date.parse(at) / 1000);
    if (cpu_percent === undefined || memory_bytes === undefined || timestampUnix >= now.timestampUnix)
      return [];
    return [
      {
        ...now,
        timestamp: new Date(timestampUnix * 1000).toISOString(),
        timestampUnix,
        cpuUsedPct: cpu_percent,
        memUsed: memory_bytes,
        diskUsed: disk_bytes ?? now.diskUsed,
      },
    ];
  });
}

/** Fields of proc_pid_stat(5), counted from the state of the process. */
const [USER, SYSTEM, RSS] = [11, 12, 21];

function percentOf(before: string, after: string): number {
  const ticks = (text: string) => sum(text, (fields) => (fields[USER] ?? 0) + (fields[SYSTEM] ?? 0));
  return Math.max(0, Math.round(((ticks(after) - ticks(before)) * TICK_MS * 1000) / GAP_MS) / 10);
}

/** The name of a process may hold anything, but its closing bracket is the last of the line. */
function sum(text: string, of: (fields: number[]) => number): number {
  const lines = text.split('\n').filter((line) => line.includes(')'));
  return lines.reduce(
    (all, line) =>
      all +
      of(
        line
          .slice(line.lastIndexOf(')') + 2)
          .split(' ')
          .map(Number),
      ),
    0,
  );
}
