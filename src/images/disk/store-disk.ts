// The disk of a stored image for virtual machines: an ext4 file with the owners, modes and capabilities of its archives. Made
// once for each list of layers. Interrupted at any moment, the store has the disk completely or not at all.
import { chmod, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { StoreDeps } from '../image-store.ts';
import { mergeTree } from '../put-image.ts';
import { requireRoom } from '../room.ts';
import { withStoreLock, withTemporary } from '../store-lock.ts';
import { diskFile, layerFolder, makeStore, storePaths, treeFolder } from '../store-paths.ts';
import { exists, type StoredImage } from '../store-records.ts';
import { changeInodes, checkFileSystem, makeFileSystem, sizeFor } from './file-system.ts';
import { inodeScript } from './inode-script.ts';
import { findTools } from './tools.ts';
import { treeInodes } from './tree-inodes.ts';

/**
 * Makes the disk when there is none, and returns what it lacks. Throws `unavailable` (a missing program), `resource_limit` (disk,
 * limits of the store), `not_found` when the image was removed meanwhile, `provider_error`, and the signal's reason.
 */
export async function makeDisk(deps: StoreDeps, image: StoredImage, signal: AbortSignal): Promise<string[]> {
  const paths = storePaths(deps.root);
  const final = diskFile(paths, image.chain_id);
  if (await exists(final)) return [];
  const lock = { ...deps, paths };
  const tools = await findTools(deps.host);
  await makeStore(paths);
  return withTemporary(lock, signal, async (folder) => {
    const [origins, disk] = [join(folder, 'origins'), join(folder, 'disk')];
    const putting = { ...lock, deps, folder, signal };
    const tree = await withStoreLock(lock, signal, () => mergeTree(putting, image, origins));
    const layers = image.layers.map((diffId) => layerFolder(paths, diffId));
    const from = join(tree, 'fs');
    const { root, contents, dropped } = await treeInodes({ root: from, origins, layers }, signal).catch(
      asRemoved,
    );
    if (deps.room) await requireRoom(paths, deps.room, sizeFor(contents));
    await makeFileSystem(tools, { image: disk, from, contents, size: undefined, signal });
    await changeInodes(tools, { image: disk, script: inodeScript(root, folder), folder, signal });
    await checkFileSystem(tools, disk, signal);
    await settle(disk);
    await withStoreLock(lock, signal, async () => {
      if (!(await exists(treeFolder(paths, image.chain_id)))) throw removed();
      if (!(await exists(final))) await rename(disk, final);
    });
    return dropped === 0 ? [] : [`${dropped} entries with line breaks in their names are left out.`];
  });
}

/** On the disk, and for nobody to write, before it gets its name. */
async function settle(disk: string): Promise<void> {
  await chmod(disk, 0o444);
  const file = await open(disk, 'r');
  await file.sync().finally(() => file.close());
}

/** The records of layers are read without the store's lock. */
function asRemoved(error: unknown): never {
  throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? removed(error) : error;
}

function removed(cause?: unknown): ServiceError {
  return new ServiceError('not_found', 'The image was removed while its disk was made.', { cause });
}
