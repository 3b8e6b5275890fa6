// Finding what a sandbox left running where no namespace ends it: every process carries a mark in its environment, and
// under a server of root the sandbox's own uid. A guest can take off the first, and never the second.
import { readdir, readFile } from 'node:fs/promises';
import { ifOurs } from '../local/presence.ts';
import type { UserspaceState } from './state.ts';

export const MARKER_VARIABLE = 'SVC_RUNTIME';

/** Value of the mark: instance and runtime, so that a sweep knows its own. */
export function processMarker({ folders }: Pick<UserspaceState, 'folders'>, name: string): string {
  return `${folders.short}.${name}`;
}

/** Host numbers of living processes that carry `mark` or have `uid`. Throws `unavailable` when that cannot be known. */
export async function markedProcesses(mark: string, uid: number | undefined): Promise<number[]> {
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: number[] = [];
  for (const pid of numbers) if ((await hasUid(pid, uid)) || (await carries(pid, mark))) found.push(pid);
  return found;
}

/** By the real uid: /proc/<pid> belongs to root when the process is not dumpable. One that is dead counts no more. */
async function hasUid(pid: number, uid: number | undefined): Promise<boolean> {
  if (uid === undefined) return false;
  const status = (await ifOurs(readFile(`/proc/${pid}/status`, 'utf8'))) ?? '';
  return new RegExp(`^Uid:\\t${uid}\\t`, 'm').test(status) && !/^State:\t[ZX]/m.test(status);
}

/** The kernel gives the environment a program began with; a dead one has none. proc(5) */
async function carries(pid: number, mark: string): Promise<boolean> {
  const environment = (await ifOurs(readFile(`/proc/${pid}/environ`, 'latin1'))) ?? '';
  return environment.split('\0').includes(`${MARKER_VARIABLE}=${mark}`);
}
