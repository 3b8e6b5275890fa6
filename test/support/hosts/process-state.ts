// What a process is doing, as the kernel has it.
import { readFileSync } from 'node:fs';

/** The letter of proc(5): R, S, D, T for stopped, Z for ended and not yet collected. Throws when there is none. */
export function stateOf(pid: number): string | undefined {
  return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
}
