// The parts of the host that a sandbox sees, as data: each runner builds the same root from it. Unlisted parts are not visible.
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { SlowFolders } from '../../host/slow-folders.ts';
import type { UserspaceConfig } from '../../schema/config.ts';
import { UnusableFolder } from '../local/instance-folders.ts';
import { hostParts } from './etc.ts';

export interface Bind {
  /** Path inside. */
  target: string;
  /** Host path with no link in it: links are followed here, where "/" still is the host's. */
  source: string;
}

export interface RootfsView {
  /** Read-only, also all mounts below. A target inside an earlier one exists there already. */
  binds: Bind[];
  links: { path: string; target: string }[];
  folders: string[];
  /** /etc/resolv.conf is a file that another one can cover. */
  hasResolver?: boolean;
  /** /etc is a folder: a sandbox that may change its image can have a file of its own in it. */
  hasEtc?: boolean;
  /** The image folder, where a private overlay over all of it is better than the binds. */
  overlay?: string;
}

/** Made by the sandbox's own mounts, whatever an image has there. */
const OWN = ['proc', 'dev', 'tmp', 'workspace', 'sys', '.svc'];
const USR_LINKS = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

/** /usr and what makes it run. `etc`: the folder of etc.ts. */
export async function hostView(etc: string, network: UserspaceConfig['network']): Promise<RootfsView> {
  const view: RootfsView = {
    binds: [{ target: '/usr', source: '/usr' }],
    // Programs for E2B have their home there (docs/e2b.md).
    links: [
      { path: '/var/tmp', target: '../tmp' },
      { path: '/home/user', target: '../workspace' },
      { path: '/root', target: 'workspace' },
      { path: '/run/e2b', target: '../tmp' },
    ],
    folders: ['/run', '/var', '/home'],
    hasResolver: true,
  };
  for (const name of USR_LINKS) await addEntry(view, '/', name);
  view.binds.push({ target: '/etc', source: etc });
  const own = await hostParts(etc);
  const parts = network === 'host' ? [...own, '/etc/resolv.conf'] : own;
  for (const path of parts) {
    const source = await realpath(path).catch(() => undefined);
    if (source) view.binds.push({ target: path, source });
  }
  return view;
}

/** Everything in an image folder except a sandbox's own mounts. Throws `provider_error` when it cannot be read. */
export async function imageView(image: string, slowly: SlowFolders): Promise<RootfsView> {
  try {
    return await slowly(() => look(image));
  } catch (cause) {
    throw new UnusableFolder(
      'The root folder of an image cannot be read.',
      'Check providers.userspace.rootfs_path and images: each must be a folder the server can read.',
      cause,
    );
  }
}

async function look(image: string): Promise<RootfsView> {
  const root = await realpath(image);
  const facts = (path: string) => lstat(join(root, path)).catch(() => undefined);
  const [etc, resolver] = await Promise.all([facts('etc'), facts('etc/resolv.conf')]);
  const hasEtc = etc?.isDirectory() === true;
  const hasResolver = hasEtc && resolver?.isFile() === true;
  const view: RootfsView = { binds: [], links: [], folders: [], overlay: root, hasEtc, hasResolver };
  for (const name of (await readdir(root)).sort()) if (!OWN.includes(name)) await addEntry(view, root, name);
  return view;
}

/** The view of an image that is mounted at `path` now. */
export function movedView(view: RootfsView, path: string): RootfsView {
  const { overlay = '', binds } = view;
  const moved = binds.map(({ target, source }) => ({
    target,
    source: `${path}${source.slice(overlay.length)}`,
  }));
  return { ...view, overlay: path, binds: moved };
}

async function addEntry(view: RootfsView, root: string, name: string): Promise<void> {
  const source = join(root, name);
  const facts = await lstat(source).catch(() => undefined);
  if (facts?.isSymbolicLink()) view.links.push({ path: `/${name}`, target: await readlink(source) });
  else if (facts?.isDirectory() || facts?.isFile()) view.binds.push({ target: `/${name}`, source });
}
