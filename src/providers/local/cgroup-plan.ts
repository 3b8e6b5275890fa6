// The cgroup folders of a sandbox and the values in them. Versions 1, hybrid and 2 differ only here: the launcher creates the
// folders, writes the values and joins, by the paths in the plan.
import type { CgroupHost, Controller } from './cgroup-host.ts';

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

export interface CgroupLimits {
  memory_mb: number;
  vcpus: number;
  processes: number;
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
  };
  return values[controller][version];
}
