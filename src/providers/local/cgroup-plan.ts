// The cgroup folders of a sandbox and the values in them. Versions 1, hybrid and 2 differ only here: the launcher creates the
// folders, writes the values and joins, by the paths in the plan. A folder can be removed when no process is in it.
import { readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../domain/ports.ts';
import type { CgroupHost, Controller } from './cgroup-host.ts';
import type { InstanceFolders } from './instance-folders.ts';
import { kill, pollUntil } from './processes.ts';

/** Processes and threads of one sandbox. */
export const MAX_PROCESSES = 512;
/** The limit of a pool's VM; the agent bounds each of its users (USER_PROCESSES in agent/src/base/user.h). */
export const POOL_PROCESSES = 4096;
const CPU_PERIOD_US = 100_000;
const MEBIBYTE = 1024 * 1024;

export interface CgroupPlan {
  folders: string[];
  limits: { path: string; value: string; needed: boolean }[];
  /** The controllers that bound the sandbox; limits of single processes cover the rest. */
  bounds: ReadonlySet<Controller>;
}

interface CgroupLimits {
  memory_mb: number;
  vcpus: number;
  processes: number;
}

/** The cgroup of a runtime. Flat and named for the instance, so that a sweep knows its own. */
export function cgroupName({ folders }: { folders: InstanceFolders }, name: string): string {
  return `svc-${folders.short}-${name}`;
}

/** `name`: of the cgroup, one path part. */
export function planCgroups(host: CgroupHost, name: string, wish: CgroupLimits): CgroupPlan {
  const plan: CgroupPlan = { folders: [], limits: [], bounds: new Set(host.folders.keys()) };
  for (const [controller, base] of host.folders) {
    const folder = `${base}/${name}`;
    if (!plan.folders.includes(folder)) plan.folders.push(folder);
    plan.limits.push(...valuesFor(host.version, controller, wish).map((limit) => at(folder, limit)));
  }
  return plan;
}

type Limit = [file: string, value: number | string, needed: boolean];

function at(folder: string, [file, value, needed]: Limit): CgroupPlan['limits'][number] {
  return { path: `${folder}/${file}`, value: `${value}`, needed };
}

/** A sandbox gets no swap; kernels without swap accounting lack the file. */
function valuesFor(version: CgroupHost['version'], controller: Controller, wish: CgroupLimits): Limit[] {
  const bytes = wish.memory_mb * MEBIBYTE;
  const quota = wish.vcpus * CPU_PERIOD_US;
  const values: Record<Controller, Record<1 | 2, Limit[]>> = {
    memory: {
      1: [
        ['memory.limit_in_bytes', bytes, true],
        ['memory.memsw.limit_in_bytes', bytes, false],
      ],
      2: [
        ['memory.max', bytes, true],
        ['memory.swap.max', 0, false],
      ],
    },
    pids: { 1: [['pids.max', wish.processes, true]], 2: [['pids.max', wish.processes, true]] },
    cpu: {
      1: [
        ['cpu.cfs_period_us', CPU_PERIOD_US, true],
        ['cpu.cfs_quota_us', quota, true],
      ],
      2: [['cpu.max', `${quota} ${CPU_PERIOD_US}`, true]],
    },
    cpuacct: { 1: [], 2: [] },
  };
  return values[controller][version];
}

interface RuntimeCgroups {
  /** Name of its folders. */
  own: string;
  /** Where they would be created today: a create may have ended before its record. */
  host: CgroupHost | undefined;
  /** Paths in the record, wherever the server's cgroup was at that time. */
  recorded: readonly string[] | undefined;
}

/** Kills the processes in them. Resolves when they are removed. Throws as `pollUntil`. */
export async function removeCgroups(
  clock: Clock,
  { own, host, recorded = [] }: RuntimeCgroups,
  signal: AbortSignal | undefined,
): Promise<void> {
  const today = [...(host?.folders.values() ?? [])].map((base) => join(base, own));
  const before = recorded.filter((path) => path.endsWith(`/${own}`));
  for (const folder of new Set([...before, ...today]))
    await pollUntil(clock, () => removeCgroup(folder), signal);
}

/** Returns false while a process is in it; that process is killed. */
async function removeCgroup(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Not ours to remove: the server was moved to a cgroup without that right.
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS'].includes(`${code}`)) return true;
    if (code !== 'EBUSY') return false;
  }
  const pids = (await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')).split('\n').map(Number);
  for (const pid of pids.filter((one) => one > 1)) kill(pid);
  return false;
}
