// What is measured has a processor of its own, and this process has the others. Otherwise a row depends on where the scheduler puts
// both.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

interface Places {
  /** As taskset takes and the kernel writes a list, for example `0-3,6`. */
  all: string;
  measured: string;
  others: string;
}

let known: { places: Places | undefined } | undefined;

/** Undefined where there is one processor, or no taskset. As it was at first: later this process may be kept off one. */
function places(): Places | undefined {
  known ??= { places: placesNow() };
  return known.places;
}

function placesNow(): Places | undefined {
  if (spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status !== 0) return undefined;
  const [, all = ''] = /Cpus_allowed_list:\s+(\S+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const each = all.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, n) => first + n);
  });
  const others = each.slice(0, -1);
  if (others.length === 0) return undefined;
  return { all, measured: String(each.at(-1)), others: others.join(',') };
}

/** Words before a command that start it on the processor for what is measured. */
export function pinnedWords(): readonly string[] {
  const found = places();
  return found ? ['taskset', '-c', found.measured] : [];
}

/** Keeps this process and all its threads off that processor during `work`; what it starts with `pinnedWords` is there. */
export async function besidePinned<T>(work: () => Promise<T>): Promise<T> {
  const found = places();
  if (!found) return work();
  allow(found.others);
  try {
    return await work();
  } finally {
    allow(found.all);
  }
}

function allow(list: string): void {
  execFileSync('taskset', ['-a', '-c', '-p', list, String(process.pid)], { stdio: 'ignore' });
}
