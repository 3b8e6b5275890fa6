// The sandbox for util-linux's unshare, which makes the namespaces, and for `svc-agent init`, which makes the root.
// Propagation is left alone: init makes the mounts private in one go with the rest.
import type { Blueprint } from './blueprint.ts';
import { INSIDE_UID } from './identity.ts';
import type { Setting } from './settings.ts';

export function unshareArguments({ network, agent, name }: Blueprint): string[] {
  return [
    ...['--user', '--map-root-user', '--mount', '--propagation', 'unchanged'],
    ...['--pid', '--fork', '--ipc', '--uts', '--cgroup'],
    ...(network === 'none' ? ['--net'] : []),
    ...['--', agent, 'init', name],
  ];
}

/** What init builds (agent/src/root.c reads these). */
export function rootSettings({ view, id, sizes, workspace }: Blueprint): Setting[] {
  return [
    ['hostname', id],
    ['inside_uid', `${INSIDE_UID}`],
    ['shm_bytes', `${sizes.shm}`],
    ...view.folders.map((path): Setting => ['dir', path]),
    ...view.links.map(({ path, target }): Setting => ['link', `${path}=${target}`]),
    ...view.binds.map(({ target, source }): Setting => ['bind', `${target}=${source}`]),
    ...overlay(view.overlay, sizes.root),
    ['tmpfs', `${sizes.tmp}=/tmp`],
    workspace ? ['share', `/workspace=${workspace}`] : ['tmpfs', `${sizes.workspace}=/workspace`],
  ];
}

function overlay(image: string | undefined, bytes: number): Setting[] {
  if (!image) return [];
  return [
    ['overlay', image],
    ['root_bytes', `${bytes}`],
  ];
}
