// Finds where this host permits cgroups: below the server's own, so that the limits of the service bound its sandboxes. A
// folder counts only when a trial folder could be created in it and had the file of the limit.
import { mkdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { makeFolders } from '../../host/make-folders.ts';

const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;
/** Counts processor time; in version 2 `cpu` does. */
const ALL_CONTROLLERS = [...CONTROLLERS, 'cpuacct'] as const;
export type Controller = (typeof ALL_CONTROLLERS)[number];

export interface CgroupHost {
  version: 1 | 2;
  /** The folder in which a controller's cgroups are created; absent where that is not possible. */
  folders: ReadonlyMap<Controller, string>;
}

/** A mounted hierarchy and the server's own folder in it. */
interface Hierarchy {
  version: 1 | 2;
  controllers: Controller[];
  folder: string;
}

const LIMIT_FILES: Record<1 | 2, Record<Controller, string>> = {
  1: {
    memory: 'memory.limit_in_bytes',
    pids: 'pids.max',
    cpu: 'cpu.cfs_quota_us',
    cpuacct: 'cpuacct.usage',
  },
  2: { memory: 'memory.max', pids: 'pids.max', cpu: 'cpu.max', cpuacct: 'cpu.stat' },
};
/** The cgroup of version 2 that holds the server's own processes, beside the ones that it creates. */
const SERVER_LEAF = 'svc-server';
const NOTHING: CgroupHost = { version: 1, folders: new Map() };

/**
 * Never throws: a host without writable cgroups has no folders. `trial` is the name of a folder that is created and removed at
 * once.
 */
export async function findCgroupHost(trial: string): Promise<CgroupHost> {
  try {
    const [mounts, own] = await Promise.all([
      readFile('/proc/self/mountinfo', 'utf8'),
      readFile('/proc/self/cgroup', 'utf8'),
    ]);
    const hierarchies = parseHierarchies(mounts, own);
    const first = await tryVersion(hierarchies, 1, trial);
    return first.folders.size > 0 ? first : await tryVersion(hierarchies, 2, trial);
  } catch {
    return NOTHING;
  }
}

/** From the texts of /proc/self/mountinfo and /proc/self/cgroup. cgroups(7) */
export function parseHierarchies(mounts: string, own: string): Hierarchy[] {
  const paths = new Map(
    own.split('\n').flatMap((line): [string, string][] => {
      const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      return names === undefined || path === undefined ? [] : [[names, path]];
    }),
  );
  return mounts.split('\n').flatMap((line) => parseMount(line, paths));
}

function parseMount(line: string, paths: ReadonlyMap<string, string>): Hierarchy[] {
  const [left = '', right = ''] = line.split(' - ');
  const [, , , root = '/', mount = ''] = left.split(' ');
  const [type, , options = ''] = right.split(' ');
  if (type === 'cgroup2') {
    const folder = below(mount, root, paths.get('') ?? '/');
    // An earlier call moved the server there: the folder above is the one to use.
    const own = basename(folder) === SERVER_LEAF ? dirname(folder) : folder;
    return [{ version: 2, controllers: [...CONTROLLERS], folder: own }];
  }
  if (type !== 'cgroup') return [];
  const names = options.split(',');
  const controllers = ALL_CONTROLLERS.filter((controller) => names.includes(controller));
  const path = [...paths].find(([key]) =>
    controllers.some((controller) => key.split(',').includes(controller)),
  );
  return controllers.length > 0
    ? [{ version: 1, controllers, folder: below(mount, root, path?.[1] ?? '/') }]
    : [];
}

/** A container sees part of the tree: its mount begins at `root`. */
function below(mount: string, root: string, path: string): string {
  const inner = root !== '/' && path.startsWith(root) ? path.slice(root.length) : path;
  return join(mount, inner).replace(/\/$/, '');
}

async function tryVersion(hierarchies: Hierarchy[], version: 1 | 2, trial: string): Promise<CgroupHost> {
  const folders = new Map<Controller, string>();
  for (const { folder, controllers } of hierarchies.filter((one) => one.version === version)) {
    if (version === 2) await delegate(folder);
    for (const controller of await tryFolder(folder, controllers, version, trial))
      folders.set(controller, folder);
  }
  return { version, folders };
}

async function tryFolder(
  folder: string,
  controllers: Controller[],
  version: 1 | 2,
  trial: string,
): Promise<Controller[]> {
  const path = join(folder, trial);
  try {
    await mkdir(path);
  } catch {
    return [];
  }
  const there = await Promise.all(controllers.map((one) => isThere(join(path, LIMIT_FILES[version][one]))));
  await rmdir(path).catch(() => undefined);
  return controllers.filter((_, index) => there[index]);
}

/**
 * Version 2 gives controllers to children only of a folder without processes: the server and its children move to a leaf. A
 * folder that is not delegated to the server refuses this, and is not used.
 */
async function delegate(folder: string): Promise<void> {
  const wanted = CONTROLLERS.map((controller) => `+${controller}`).join(' ');
  const enable = () => writeFile(join(folder, 'cgroup.subtree_control'), wanted);
  try {
    await enable().catch(async () => {
      const leaf = join(folder, SERVER_LEAF);
      await makeFolders(leaf);
      // One write moves one process. A child that has ended meanwhile is nowhere.
      for (const pid of [process.pid, ...(await childrenIn(folder))])
        await writeFile(join(leaf, 'cgroup.procs'), `${pid}`).catch(() => undefined);
      await enable();
    });
  } catch {
    // The trial folder shows it: it lacks the files of the limits.
  }
}

/** proc_pid_task(5): `children`, of the thread that starts them all. */
async function childrenIn(folder: string): Promise<string[]> {
  const members = (await readFile(join(folder, 'cgroup.procs'), 'utf8')).split('\n');
  const own = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8').catch(() => '');
  return own.split(' ').filter((pid) => pid !== '' && members.includes(pid));
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
