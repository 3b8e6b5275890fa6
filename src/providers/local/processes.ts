// Processes of this host, by number and start time: another process may have the number by now.
import { readdir, readFile } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { ifOurs, ifPresent } from './presence.ts';

export interface ProcessIdentity {
  pid: number;
  /** Field 22 of /proc/<pid>/stat. proc(5) */
  start: number;
}

/** Whether that very process is alive; a zombie is not. Throws `unavailable` when it cannot be determined. */
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

/** Sends a signal if that very process is alive. Resolves at once; throws as isAlive. */
export async function killProcess(mark: ProcessIdentity, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (!(await isAlive(mark))) return;
  try {
    process.kill(mark.pid, signal);
  } catch {
    // Ended in between.
  }
}

/** Kills by number alone: for a process that its cgroup, marker or uid identifies as ours. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ended in between.
  }
}

const PATIENCE_MS = 10_000;
const LONGEST_PAUSE_MS = 50;

/** Polls with a growing pause: a killed process usually ends within two milliseconds. Throws `unavailable` after ten seconds. */
export async function pollUntil(
  clock: Clock,
  isDone: () => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (let pause = 1; !(await isDone()); pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    if (clock.monotonic() > deadline)
      throw new ServiceError('unavailable', 'The sandbox did not end in time.', {
        remedy: 'Destroy it again.',
      });
    await clock.sleep(pause, signal);
  }
}

/** Numbers of all processes of this host. */
export async function allProcesses(): Promise<number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

/** The program and arguments of a process; empty when it has ended or is hidden from us. */
export async function commandWords(pid: number): Promise<string[]> {
  return ((await ifOurs(readFile(`/proc/${pid}/cmdline`, 'latin1'))) ?? '').split('\0');
}
