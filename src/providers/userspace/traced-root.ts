// The root of a sandbox under proot: a folder on disk with a target for each binding, since nothing can be mounted. It lies
// beside the workspaces on disk and is removed with them.
import { chown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolders } from '../../host/make-folders.ts';
import { UnusableFolder } from '../local/instance-folders.ts';
import { UID_BASE } from '../local/uid-slots.ts';
import type { PlannedOrder } from './order.ts';
import type { RootfsView } from './rootfs-view.ts';
import type { UserspaceState } from './state.ts';
import { workspaceFolder } from './workspace.ts';

export const TRACED_DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx', 'pts'].map(
  (name) => `/dev/${name}`,
);
const FOLDERS = ['proc', 'dev', 'dev/pts', 'run', 'var', '.svc'];
/** The sandbox's own. */
const WRITABLE = ['workspace', 'tmp', 'dev/shm'];
const LINKS: RootfsView['links'] = [
  { path: '/dev/fd', target: '/proc/self/fd' },
  { path: '/dev/stdin', target: '/proc/self/fd/0' },
  { path: '/dev/stdout', target: '/proc/self/fd/1' },
  { path: '/dev/stderr', target: '/proc/self/fd/2' },
];

/** The folder. Throws `provider_error`. */
export async function makeTracedRoot(
  state: UserspaceState,
  { spec, image }: PlannedOrder,
  slot: number | undefined,
): Promise<string> {
  const view = await state.view(image.rootfs, 'host');
  const root = await workspaceFolder(state, spec, 0o755);
  const fill = async () => {
    for (const name of [...FOLDERS, ...view.folders]) await makeFolders(join(root, name));
    for (const { path, target } of [...view.links, ...LINKS]) await symlink(target, join(root, path));
    for (const { source, target } of view.binds) await makeTarget(state, join(root, target), source);
    for (const path of TRACED_DEVICES) await makeTarget(state, join(root, path), path);
    await writeFile(join(root, '.svc/svc-agent'), '');
    for (const name of WRITABLE) {
      await mkdir(join(root, name), { mode: 0o700 });
      if (slot !== undefined) await chown(join(root, name), UID_BASE + slot, UID_BASE + slot);
    }
  };
  try {
    await state.slowly(fill);
    return root;
  } catch (cause) {
    throw new UnusableFolder(
      'Could not create the root of the sandbox.',
      'Check that providers.userspace.workspace_base can be written.',
      cause,
    );
  }
}

/** An empty folder or file, of the sort that `source` is. One inside an earlier binding is there already. */
async function makeTarget({ host }: UserspaceState, path: string, source: string): Promise<void> {
  if ((await host.stat(source))?.isDirectory()) return void (await makeFolders(path));
  await makeFolders(dirname(path));
  await writeFile(path, '');
}
