// Removes what no name of the image store leads to.
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type LockDeps, sweepTemporary } from './store-lock.ts';
import { diskFile, type StorePaths } from './store-paths.ts';
import { entriesOf, readImage, readLayer, readNames, type StoredImage } from './store-records.ts';
import { usersOf } from './tree-uses.ts';

const RECORD = '.json';

/**
 * Removes images, trees, disks and layers that no name leads to, and what killed processes left. Trees in use stay, and their
 * disks; and layers that were unpacked since the first import or pull began that has not ended. Call it with the store's lock.
 * Returns the bytes of what it removed.
 */
export async function collect({ agent }: Pick<LockDeps, 'agent'>, paths: StorePaths): Promise<number> {
  const since = await sweepTemporary({ agent, paths });
  await removeUnfinished(paths);
  const kept = new Set((await readNames(paths)).map(({ digest }) => digest));
  const images: StoredImage[] = [];
  for (const file of await entriesOf(paths.images)) {
    const digest = `sha256:${file.slice(0, -RECORD.length)}`;
    const image = kept.has(digest) ? await readImage(paths, digest) : undefined;
    if (image) images.push(image);
    else await rm(join(paths.images, file), { force: true });
  }
  const chains = new Set(images.map(({ chain_id }) => hex(chain_id)));
  const layers = new Set(images.flatMap((image) => image.layers.map(hex)));
  for (const chain of await entriesOf(paths.trees)) {
    const folder = join(paths.trees, chain);
    if (chains.has(chain) || (await usersOf(folder)).length > 0) continue;
    await discard(paths, folder, async (moved) => (await usersOf(moved)).length > 0);
  }
  let freed = await collectDisks(paths);
  for (const layer of await entriesOf(paths.layers)) {
    if (layers.has(layer)) continue;
    const facts = await readLayer(paths, `sha256:${layer}`);
    if (Date.parse(facts?.unpacked_at ?? '') >= since) continue;
    freed += facts?.bytes ?? 0;
    await discard(paths, join(paths.layers, layer));
  }
  return freed;
}

/** Records whose writer was killed: nobody else writes any now. */
async function removeUnfinished({ names, images }: StorePaths): Promise<void> {
  for (const folder of [names, images])
    for (const file of await entriesOf(folder))
      if (!file.endsWith(RECORD)) await rm(join(folder, file), { force: true });
}

/** Disks of trees that are no longer there, and those that an older program made. Returns their bytes. */
async function collectDisks(paths: StorePaths): Promise<number> {
  const kept = (await entriesOf(paths.trees)).map((chain) => diskFile(paths, `sha256:${chain}`));
  let freed = 0;
  for (const name of await entriesOf(paths.disks)) {
    const disk = join(paths.disks, name);
    if (kept.includes(disk)) continue;
    freed += (await stat(disk)).size;
    await rm(disk, { force: true });
  }
  return freed;
}

const hex = (digest: string) => digest.slice('sha256:'.length);

/**
 * Out of sight in one step, so that an interrupted removal leaves no half of a layer under its name. What `isNeeded` after that
 * goes back: a sandbox may have started on it just before.
 */
async function discard(
  paths: StorePaths,
  folder: string,
  isNeeded: (moved: string) => Promise<boolean> = async () => false,
): Promise<void> {
  const trash = join(paths.tmp, `${folder.slice(-12)}-old`);
  await rm(trash, { recursive: true, force: true });
  await mkdir(trash);
  const moved = join(trash, 'old');
  await rename(folder, moved);
  if (await isNeeded(moved)) await rename(moved, folder);
  await rm(trash, { recursive: true, force: true });
}
