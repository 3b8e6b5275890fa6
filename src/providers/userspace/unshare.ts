// The sandbox for util-linux's unshare, which makes the namespaces, and for `svc-agent init`, which makes the root.
// Propagation is left alone: init makes the mounts private in one go with the rest.

import type { Setting } from '../local/settings.ts';
import { STANDARD_USER } from './image-user.ts';
import type { Blueprint } from './plan.ts';

/** A pool's user namespace is made by init, which maps more uids than unshare can. */
export function unshareArguments({ network, agent, name, isPool }: Blueprint): string[] {
  return [
    isPool ? [] : ['--user', '--map-root-user'],
    ['--mount', '--propagation', 'unchanged'],
    ['--pid', '--fork', '--ipc', '--uts', '--cgroup'],
    network === 'host' ? [] : ['--net'],
    ['--', agent, 'init', name],
  ].flat();
}

/** What init builds (agent/src/init/root.c reads these). */
export function rootSettings(blueprint: Blueprint): Setting[] {
  const { view, id, sizes, isPool, gate, covers, resolver, user = STANDARD_USER } = blueprint;
  return [
    ['hostname', id],
    ['inside_uid', `${user.uid}`],
    ...(user.uid === 0 ? [['ignore_owners', '1'] as Setting] : []),
    ['shm_bytes', isPool ? '0' : `${sizes.shm}`],
    ...view.folders.map((path): Setting => ['dir', path]),
    ...view.links.map(({ path, target }): Setting => ['link', `${path}=${target}`]),
    ...view.binds.map(({ target, source }): Setting => ['bind', `${target}=${source}`]),
    ...(gate && view.hasResolver ? [['bind', `/etc/resolv.conf=${gate.resolver}`] as Setting] : []),
    ...covers.map(({ target, source }): Setting => ['cover', `${target}=${source}`]),
    ...(resolver === undefined ? [] : [['resolver', resolver] as Setting]),
    // Changes to an image would be seen by all users of a pool, and its open folders be written by each.
    ...(isPool ? [] : overlay(view.overlay, sizes.root)),
    ...(blueprint.isTree ? [['tree', '1'] as Setting] : []),
    ...(isPool ? poolFolders(blueprint) : ownFolders(blueprint)),
  ];
}

function ownFolders({ sizes, workspace }: Blueprint): Setting[] {
  return [
    ['tmpfs', `${sizes.tmp}=/tmp`],
    workspace ? ['share', `/workspace=${workspace}`] : ['tmpfs', `${sizes.workspace}=/workspace`],
  ];
}

/** Empty folders; init mounts workspaces in memory. */
function poolFolders({ workspace }: Blueprint): Setting[] {
  return [
    ['dir', '/tmp'],
    ['dir', '/workspaces'],
    ...(workspace ? [['share', `/workspaces=${workspace}`] as Setting] : []),
  ];
}

function overlay(image: string | undefined, bytes: number): Setting[] {
  if (!image) return [];
  return [
    ['overlay', image],
    ['root_bytes', `${bytes}`],
  ];
}
