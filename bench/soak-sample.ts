// What a server holds, read from the kernel and its inspector, never from its API; and whether it holds more than before.
import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inspected } from './live-heap.ts';

export interface SoakSample {
  cycles: number;
  descriptors: number;
  /** What the server has started: its launcher, and sandboxes' first processes that would be left. */
  children: number;
  /** What is live: read right after a collection, as is what is resident. */
  heap_mb: number;
  resident_mb: number;
  wal_mb: number;
  loop_delay_p99_ms: number;
  /** Resident in the engine and its containerd; 0 without one. */
  engine_mb: number;
}

/** From the end of the warm-up to the last sample. */
export interface Growth {
  heap_mb: number;
  heap_mb_per_1000: number;
  resident_mb: number;
  resident_mb_per_1000: number;
  descriptors: number;
  children: number;
  engine_mb: number;
  /** The most that was ever seen. */
  wal_mb: number;
  loop_delay_p99_ms: number;
}

/** The share of the cycles in which compiled code and caches reach their size. */
const WARM_UP = 0.2;
const MOST: Partial<Record<keyof Growth, number>> = {
  /** Code that is still being compiled adds some hundred KiB; a leak of 1 KiB a cycle is more than that in 2,000. */
  heap_mb: 2,
  /** The kernel gets pages back late. */
  resident_mb: 24,
  /** Connections that are kept for the next call. */
  descriptors: 4,
  children: 0,
  /** Go gives memory back late, and by its own measure of how much is free. */
  engine_mb: 64,
  wal_mb: 16,
  /** A machine that does much else holds a process up for so long. */
  loop_delay_p99_ms: 1000,
};

export async function sample(
  { pid, home }: { pid: number; home: string },
  cycles: number,
): Promise<SoakSample> {
  const { heap_mb, loop_delay_p99_ms } = await inspected(join(home, 'log'));
  return {
    cycles,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    children: descendants(pid),
    heap_mb,
    loop_delay_p99_ms,
    resident_mb: residentMb(pid),
    wal_mb: (statSync(join(home, 'svc.db-wal'), { throwIfNoEntry: false })?.size ?? 0) / 1_048_576,
    engine_mb: enginePids(home).reduce((sum, engine) => sum + residentMb(engine), 0),
  };
}

export function growth(samples: readonly SoakSample[]): Growth {
  const last = samples.at(-1);
  const first = last && samples.find((one) => one.cycles >= WARM_UP * last.cycles);
  if (!first) throw new Error('the soak took no sample');
  const more = (key: keyof SoakSample) => last[key] - first[key];
  const per1000 = 1000 / Math.max(1, more('cycles'));
  return {
    heap_mb: more('heap_mb'),
    heap_mb_per_1000: more('heap_mb') * per1000,
    resident_mb: more('resident_mb'),
    resident_mb_per_1000: more('resident_mb') * per1000,
    descriptors: more('descriptors'),
    children: more('children'),
    engine_mb: more('engine_mb'),
    wal_mb: Math.max(...samples.map(({ wal_mb }) => wal_mb)),
    loop_delay_p99_ms: Math.max(...samples.map(({ loop_delay_p99_ms }) => loop_delay_p99_ms)),
  };
}

/** The measures that grew beyond what noise explains. */
export function grown(measured: Growth): string[] {
  return (Object.keys(MOST) as (keyof Growth)[]).filter((key) => measured[key] > (MOST[key] ?? Infinity));
}

/** The engine and containerd of the bench's folder: both name files in it as arguments. */
export function enginePids(home: string): number[] {
  return pids().filter((pid) => {
    const [program = '', ...words] = textOf(`/proc/${pid}/cmdline`).split('\0');
    return /(^|\/)(dockerd|containerd)$/.test(program) && words.some((word) => word.startsWith(`${home}/`));
  });
}

/** Every process below `pid`, with its command line. */
export function processesUnder(pid: number): { pid: number; command: string }[] {
  const parents = new Map(pids().map((one) => [one, parentOf(one)]));
  const isOurs = (one: number | undefined): boolean =>
    one !== undefined && one > 1 && (one === pid || isOurs(parents.get(one)));
  return [...parents.keys()]
    .filter((one) => one !== pid && isOurs(one))
    .map((one) => ({ pid: one, command: textOf(`/proc/${one}/cmdline`).replaceAll('\0', ' ') }));
}

const descendants = (pid: number) => processesUnder(pid).length;
const residentMb = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
const parentOf = (pid: number) => Number(/\) \S+ (\d+)/.exec(textOf(`/proc/${pid}/stat`))?.[1] ?? 0);

function pids(): number[] {
  const entries: Dirent[] = readdirSync('/proc', { withFileTypes: true });
  return entries.map(({ name }) => Number(name)).filter(Number.isInteger);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
