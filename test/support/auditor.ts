// The independent auditor: what of ours exists on this host, read from the kernel and never through our API.
import { type Dirent, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Everything left of sandboxes that belong to a server whose state is below `home`. */
export interface Remains {
  processes: string[];
  mounts: string[];
  sockets: string[];
  cgroups: string[];
  folders: string[];
}

/** `runRoots`: folders that hold run folders, beside what is below `home`. */
export function remains(home: string, ids: readonly string[] = []): Remains {
  return {
    processes: agents(ids),
    mounts: lines('/proc/self/mountinfo').filter((line) => mentions(line, home, ids)),
    sockets: lines('/proc/net/unix').filter((line) => mentions(line, home, ids)),
    cgroups: folders('/sys/fs/cgroup', 6).filter((path) => ids.some((id) => path.includes(id))),
    folders: [home, '/run/svc']
      .flatMap((root) => folders(root, 5))
      .filter((path) => ids.some((id) => path.includes(id))),
  };
}

/** Host pids of all agents that run, with their command lines: `ids` narrows to those that name one. */
export function agents(ids: readonly string[] = []): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => isAgent(pid))
    .map(
      (pid) => `${pid} ${text(`/proc/${pid}/cgroup`)} ${text(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`,
    )
    .filter((line) => ids.length === 0 || ids.some((id) => line.includes(id)));
}

function isAgent(pid: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`).includes('svc-agent');
  } catch {
    return false;
  }
}

function mentions(line: string, home: string, ids: readonly string[]): boolean {
  return line.includes(home) || ids.some((id) => line.includes(id));
}

function folders(root: string, depth: number): string[] {
  if (depth === 0) return [];
  let entries: Dirent[];
  try {
    entries = readdirSync(root, { withFileTypes: true });
  } catch {
    return [];
  }
  const here = entries.filter((entry) => entry.isDirectory()).map((entry) => join(root, entry.name));
  return here.flatMap((path) => [path, ...folders(path, depth - 1)]);
}

function lines(path: string): string[] {
  return text(path).split('\n');
}

function text(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
