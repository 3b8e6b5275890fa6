// What a process holds, read from the kernel and not from itself.
import { readFileSync } from 'node:fs';

const LOOK_MS = 250;
/** What collections give back comes within this. */
const SETTLE_MS = 3000;

/** Memory of its own in MB: neither files nor what it shares. */
export function anonymousMb(pid: number): number {
  return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** All that is resident, in MB. */
export function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** The least of a few seconds: what lies between collections is not counted. */
export async function settledMb(pid: number, read: (pid: number) => number = anonymousMb): Promise<number> {
  const end = performance.now() + SETTLE_MS;
  let least = read(pid);
  while (performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    least = Math.min(least, read(pid));
  }
  return least;
}
