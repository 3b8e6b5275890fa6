// The cgroups of a monitor: guest, emulation and devices together. The guest's own bounds are inside of the machine; these
// are for a monitor that a guest has taken over, or that leaks.
import { writeFile } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import { makeFolders } from '../../host/make-folders.ts';
import type { CgroupHost } from '../local/cgroup-host.ts';
import { type CgroupPlan, planCgroups } from '../local/cgroup-plan.ts';
import type { MonitorPlan } from './monitor-kind.ts';

/** QEMU itself, and room for pages of files that can be dropped; emulated, what it translates, too. */
const OVERHEAD_MB = { kvm: 160, emulation: 352 } as const;
/** Beside the guest's processors one works for its devices. */
const DEVICE_CPUS = 1;
/** One for each processor, and workers for disks. */
const THREADS = 256;
/** A process of one thread moves itself at once; moving another one takes the kernel a wait for all processors. */
const JOIN = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 1; shift; done; shift; exec "$@"';

export function monitorCgroups(
  host: CgroupHost,
  { name, accelerator, memory_mb, vcpus }: Pick<MonitorPlan, 'name' | 'accelerator' | 'memory_mb' | 'vcpus'>,
): CgroupPlan {
  return planCgroups(host, name, {
    memory_mb: memory_mb + OVERHEAD_MB[accelerator.kind],
    vcpus: vcpus + DEVICE_CPUS,
    processes: THREADS,
  });
}

/** Throws `provider_error`; what was made is `removeCgroups`' to remove. */
export async function makeCgroups({ folders, limits }: CgroupPlan): Promise<void> {
  try {
    for (const folder of folders) await makeFolders(folder);
    for (const { path, value, needed } of limits)
      await writeFile(path, value).catch((error: unknown) => {
        // A quota of the service itself that is smaller is refused, and bounds the guest as well.
        if (needed && !path.includes('/cpu.')) throw error;
      });
  } catch (cause) {
    throw new ServiceError('provider_error', 'Could not set the limits of a virtual machine.', {
      cause,
      remedy: 'Run svc provider get microvm to see what this host lacks.',
    });
  }
}

/** The same program, which is in the cgroups before its first instruction. */
export function joining(
  { version }: CgroupHost,
  { folders }: CgroupPlan,
  [file, args]: readonly [string, readonly string[]],
): [file: string, args: readonly string[]] {
  if (folders.length === 0) return [file, args];
  const entrance = version === 1 ? 'tasks' : 'cgroup.procs';
  const entrances = folders.map((folder) => `${folder}/${entrance}`);
  return ['/bin/sh', ['-c', JOIN, 'sh', ...entrances, '--', file, ...args]];
}
