// Finds processes that a sandbox left running where no namespace ends them: each carries a marker in its environment and, under
// a server of root, the sandbox's own uid. A guest can remove the first, and never the second.
import { readFile } from 'node:fs/promises';
import { ifOurs } from '../local/presence.ts';
import { allProcesses } from '../local/processes.ts';
import type { UserspaceState } from './state.ts';

export const MARKER_VARIABLE = 'SVC_RUNTIME';

/** The value of the marker: instance and runtime, so that a sweep knows its own. */
export function processMarker({ folders }: Pick<UserspaceState, 'folders'>, name: string): string {
  return `${folders.short}.${name}`;
}

/** Host pids of running processes with `mark` or `uid`. Throws `unavailable` when they cannot be determined. */
export async function markedProcesses(mark: string, uid: number | undefined): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await allProcesses())
    if ((await hasUid(pid, uid)) || (await carries(pid, mark))) found.push(pid);
  return found;
}

/** Compares the real uid: /proc/<pid> belongs to root when the process is not dumpable. Zombies do not count. */
async function hasUid(pid: number, uid: number | undefined): Promise<boolean> {
  if (uid === undefined) return false;
  const status = (await ifOurs(readFile(`/proc/${pid}/status`, 'utf8'))) ?? '';
  return new RegExp(`^Uid:\\t${uid}\\t`, 'm').test(status) && !/^State:\t[ZX]/m.test(status);
}

/** The kernel shows the initial environment of a program; a dead one has none. proc(5) */
async function carries(pid: number, mark: string): Promise<boolean> {
  const environment = (await ifOurs(readFile(`/proc/${pid}/environ`, 'latin1'))) ?? '';
  return environment.split('\0').includes(`${MARKER_VARIABLE}=${mark}`);
}
