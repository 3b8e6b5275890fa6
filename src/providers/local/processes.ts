// Processes of this host by number and start time: a number alone may be somebody else's by now.
import { readFile } from 'node:fs/promises';
import { ifPresent } from './presence.ts';

export interface ProcessIdentity {
  pid: number;
  /** Field 22 of /proc/<pid>/stat. proc(5) */
  start: number;
}

/**
 * Whether that very process lives. One that is dead and not yet waited for does not. Throws `unavailable` when it cannot be
 * known.
 */
export async function isAlive(mark: ProcessIdentity): Promise<boolean> {
  const text = await ifPresent(readFile(`/proc/${mark.pid}/stat`, 'utf8'));
  const facts = text === undefined ? undefined : parseStat(text);
  return facts !== undefined && facts.start === mark.start && facts.state !== 'Z' && facts.state !== 'X';
}

/** From the text of /proc/<pid>/stat: the name in its second field may hold blanks and brackets. */
export function parseStat(text: string): { state: string; start: number } | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, start] = [fields[0], Number(fields[19])];
  return state && Number.isInteger(start) ? { state, start } : undefined;
}

/** A signal, when it is alive and the same. Resolves at once; throws as isAlive. */
export async function killProcess(mark: ProcessIdentity, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (!(await isAlive(mark))) return;
  try {
    process.kill(mark.pid, signal);
  } catch {
    // Ended in between.
  }
}

/** By its number alone: for what is known to be ours by the cgroup, mark or uid that it has now. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ended in between.
  }
}
