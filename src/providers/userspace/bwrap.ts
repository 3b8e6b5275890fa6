// The sandbox as bubblewrap's arguments. Version 0.8 is needed: --size bounds the memory a guest can fill, --disable-userns
// ends nesting. Not used: --die-with-parent (runtimes outlive the server), --new-session (launch has called setsid).

import { INSIDE_GID, INSIDE_UID } from '../local/uid-slots.ts';
import type { Blueprint } from './plan.ts';

/** Capabilities that init needs until it has created the namespace, outside of which it then has none. */
const POOL_RIGHTS = ['CAP_SYS_ADMIN', 'CAP_SETUID', 'CAP_SETGID'];
const AGENT = '/.svc/svc-agent';

/** All arguments, in order: mounts are made in the order given, and read-only comes last. */
export function bwrapArguments(blueprint: Blueprint): string[] {
  return [
    namespaces(blueprint),
    ['--as-pid-1', '--clearenv', '--cap-drop', 'ALL'],
    blueprint.isPool ? POOL_RIGHTS.flatMap((right) => ['--cap-add', right]) : [],
    root(blueprint),
    system(blueprint),
    blueprint.isPool ? poolFolders(blueprint) : writable(blueprint),
    ['--remount-ro', '/', '--chdir', blueprint.isPool ? '/' : '/workspace'],
    ['--', AGENT, 'init', blueprint.name],
  ].flat();
}

/** A pool's user namespace is made by init, which maps more uids than bubblewrap can. */
function namespaces({ network, id, isPool, gate }: Blueprint): string[] {
  const user = ['--disable-userns', '--uid', `${INSIDE_UID}`, '--gid', `${INSIDE_GID}`];
  return [
    isPool ? [] : ['--unshare-user'],
    ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    // The launcher makes the networks of a gate.
    network !== 'host' && !gate ? ['--unshare-net'] : [],
    isPool ? [] : user,
    ['--hostname', id],
  ].flat();
}

function root({ view, agent, gate, covers }: Blueprint): string[] {
  return [
    view.folders.flatMap((path) => ['--dir', path]),
    view.links.flatMap(({ path, target }) => ['--symlink', target, path]),
    view.binds.flatMap(({ target, source }) => ['--ro-bind', source, target]),
    gate && view.hasResolver ? ['--ro-bind', gate.resolver, '/etc/resolv.conf'] : [],
    covers.flatMap(({ target, source }) => ['--ro-bind', source, target]),
    ['--ro-bind', agent, AGENT],
  ].flat();
}

function system({ sizes, terminals, isPool }: Blueprint): string[] {
  const pts = terminals ? ['--dev-bind', terminals, '/dev/pts'] : [];
  return [
    ['--proc', '/proc', '--dev', '/dev'],
    pts,
    isPool ? [] : tmpfs('/dev/shm', sizes.shm),
    ['--remount-ro', '/dev'],
  ].flat();
}

function writable({ workspace, sizes }: Blueprint): string[] {
  const target = workspace ? ['--bind', workspace, '/workspace'] : tmpfs('/workspace', sizes.workspace);
  return [...tmpfs('/tmp', sizes.tmp), ...target];
}

/** Empty folders; init mounts workspaces in memory. */
function poolFolders({ workspace }: Blueprint): string[] {
  return ['--dir', '/tmp', ...(workspace ? ['--bind', workspace, '/workspaces'] : ['--dir', '/workspaces'])];
}

function tmpfs(path: string, bytes: number): string[] {
  return ['--perms', '1777', '--size', `${bytes}`, '--tmpfs', path];
}
