// What a process holds, read from the kernel and not from itself.
import { readFileSync } from 'node:fs';
import { collectGarbage } from './live-heap.ts';

const LOOK_MS = 250;
/** What collections give back comes within this. */
const SETTLE_MS = 3000;
/** Work in the background leaves garbage between two of them. */
const COLLECTIONS = 10;

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

/** A process that was started with INSPECTED. */
export interface InspectedProcess {
  pid: number;
  /** The file that its standard error goes to. */
  log: string;
}

/** Its own memory in MB without garbage: the least of some readings, each right after a collection. */
export async function liveMb({ pid, log }: InspectedProcess): Promise<number> {
  const readings: number[] = [];
  while (readings.length < COLLECTIONS) {
    await collectGarbage(log);
    readings.push(anonymousMb(pid));
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return Math.min(...readings);
}
