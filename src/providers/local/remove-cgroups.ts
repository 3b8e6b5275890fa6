// Removes a runtime's cgroups: a folder can be removed when no process is in it.
import { readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../domain/ports.ts';
import type { CgroupHost } from './cgroup-host.ts';
import { pollUntil } from './poll-until.ts';
import { kill } from './processes.ts';

export interface RuntimeCgroups {
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
