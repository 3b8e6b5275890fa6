// The folders of benches, and what a killed one left: its folder, the servers and the engine in it, and that engine's
// control groups. Each folder says whose it is, by pid and start time, since pids come again.
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { removeCgroups } from './engine.ts';

const PREFIX = 'svc-bench-';
const OWNER = 'owner';

/** A folder that lasts as long as `work`. */
export async function withHome<T>(work: (home: string) => Promise<T>, under = tmpdir()): Promise<T> {
  const home = mkdtempSync(join(under, PREFIX));
  writeFileSync(join(home, OWNER), `${process.pid} ${startOf(process.pid)}`);
  try {
    return await work(home);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Clears away what benches left that are not there any more; how many. A folder without an owner is nobody's to remove. */
export async function sweep(under = tmpdir()): Promise<number> {
  const homes = readdirSync(under)
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => join(under, name))
    .filter(isLeft);
  for (const home of homes) {
    for (const pid of programsIn(home)) kill(pid);
    await removeCgroups(basename(home));
    rmSync(home, { recursive: true, force: true });
  }
  return homes.length;
}

/** Only where it is ours by its owner, too: everybody may make a folder of such a name in /tmp. */
function isLeft(home: string): boolean {
  if (lstatSync(home).uid !== process.getuid?.()) return false;
  const [pid, start] = (textOf(join(home, OWNER)) ?? '').split(' ');
  return pid !== undefined && start !== undefined && startOf(Number(pid)) !== start;
}

/** In ticks since the boot, field 22 of proc_pid_stat(5); undefined when there is no such process. */
function startOf(pid: number): string | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  // The second field is a name in parentheses that may hold anything.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** The engine and process 1 of its namespaces, one of whose arguments is a file of `home`; and servers and workers, which work there. */
function programsIn(home: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => isOf(home, pid)).map(Number);
}

/** Somebody may look around in there: of what only works in it, just servers and workers are ours. */
function isOf(home: string, pid: string): boolean {
  const words = (textOf(`/proc/${pid}/cmdline`) ?? '').split('\0');
  const isIn = (path: string) => path === home || path.startsWith(`${home}/`);
  const isService = words.includes('serve') || words.includes('worker');
  return words.some(isIn) || (isService && isIn(folderOf(pid)));
}

function folderOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended with another one.
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
