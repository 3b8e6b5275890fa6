// How much processor time a process uses, for rows that say where their time goes.
import { readFileSync } from 'node:fs';

/** USER_HZ, of proc_pid_stat(5): 100 on every architecture that Node runs on. */
const MS_PER_TICK = 10;

export interface Busy {
  /** What `work` took, and what the process was busy for during it, all its threads together; both in ms. */
  took: number;
  busy: number;
}

/** Runs `work` so many times; the figures are means. */
export async function busyDuring(pid: number, goes: number, work: () => Promise<unknown>): Promise<Busy> {
  const [began, before] = [performance.now(), usedMs(pid)];
  for (let n = 0; n < goes; n += 1) await work();
  return { took: (performance.now() - began) / goes, busy: (usedMs(pid) - before) / goes };
}

/** What a process was busy for since its start. */
export function usedMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is a name in parentheses that may hold anything; 14 and 15 are user and system time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}
