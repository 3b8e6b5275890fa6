// The independent auditor: what of ours exists on this host, read from the kernel and never through our API.
import { execFileSync } from 'node:child_process';
import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestServer } from '../servers/server.ts';

/** Everything of one server: what its run folder, its state folder or one of its sandboxes gives a name to. */
export interface Remains {
  processes: string[];
  mounts: string[];
  sockets: string[];
  cgroups: string[];
  folders: string[];
  containers: string[];
}

export const NOTHING: Remains = {
  processes: [],
  mounts: [],
  sockets: [],
  cgroups: [],
  folders: [],
  containers: [],
};

/** What is left of sandboxes `ids` of the server with this state folder and instance. */
export function remains(
  server: { home: string; instance?: string; env?: Record<string, string> },
  ids: readonly string[],
): Remains {
  const names = [server.home, ...(server.instance === undefined ? [] : [server.instance]), ...ids];
  const ours = (line: string) => names.some((name) => line.includes(name));
  const named = (path: string) => ids.some((id) => path.includes(id));
  return {
    processes: agents(names),
    mounts: lines('/proc/self/mountinfo').filter(ours),
    sockets: lines('/proc/net/unix').filter(ours),
    cgroups: folders('/sys/fs/cgroup', 6).filter(named),
    folders: [server.home, '/run/svc'].flatMap((root) => folders(root, 5)).filter(named),
    containers: containers(server.env?.SVC_PROVIDERS_CONTAINER_SOCKET).filter(named),
  };
}

/** What runs, or is left of what ran, for the server of this instance: agents on this host, and containers. */
export function runtimes(
  server: Pick<TestServer, 'home' | 'instance' | 'beside'> & { env?: Record<string, string> },
): string[] {
  const inEngine = containers(server.env?.SVC_PROVIDERS_CONTAINER_SOCKET);
  return [
    ...agents([server.instance, server.home, ...(server.beside === undefined ? [] : [server.beside])]),
    ...inEngine.filter((name) => name.startsWith(`svc-${server.instance}-`)),
  ];
}

/** Agents that are process 1 of a sandbox of ours: by their command line, cgroups or mounts, host pid first. */
export function agents(names: readonly string[]): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({ pid, command: text(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') }))
    .filter(({ command }) => /^\S*svc-agent\S* init /.test(command))
    .filter(({ pid, command }) => {
      const marks = command + text(`/proc/${pid}/cgroup`) + text(`/proc/${pid}/mountinfo`);
      return names.some((name) => marks.includes(name));
    })
    .map(({ pid, command }) => `${pid} ${command}`);
}

/** Names and labels of all containers of the engine at `socket`, as its own client lists them. */
export function containers(socket: string | undefined): string[] {
  if (socket === undefined) return [];
  const args = ['-H', `unix://${socket}`, 'ps', '-a', '--no-trunc', '--format', '{{.Names}} {{.Labels}}'];
  return execFileSync('/usr/bin/docker', args, { encoding: 'utf8' }).split('\n');
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
