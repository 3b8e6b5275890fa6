// The image store of this machine: what it holds, and removing what nobody needs. `import.ts` puts images into it.
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { completeImageName, shortImageName } from '../domain/image-name.ts';
import type { Host } from '../host/host.ts';
import { imageInUse, noStoredImage } from './image-faults.ts';
import { sweepParts } from './registry/part-files.ts';
import { type LockDeps, sweepTemporary, withStoreLock } from './store-lock.ts';
import {
  diskFile,
  layerFolder,
  makeStore,
  nameFile,
  type StorePaths,
  storePaths,
  treeFolder,
} from './store-paths.ts';
import {
  entriesOf,
  lastUse,
  noteUse,
  readImage,
  readName,
  readNames,
  type StoredImage,
  type StoredName,
  writeRecord,
} from './store-records.ts';
import { usersOf } from './tree-uses.ts';
import type { UnpackLimits } from './unpack.ts';

export interface RoomLimits {
  /** Content of all layers and disks; 0 for no limit. */
  maxStoreBytes: number;
  /** What stays free of the file system. */
  keepFreeBytes: number;
}

export interface StoreDeps extends Omit<LockDeps, 'paths'> {
  host: Host;
  /** images.path */
  root: string;
  limits: UnpackLimits;
  /** No limits without it. */
  room?: RoomLimits | undefined;
}

export interface FoundImage extends StoredName {
  image: StoredImage;
  /** Folder of its tree. */
  tree: string;
}

export interface ListedImage extends FoundImage {
  /** Bytes in layers that other images have, too. */
  shared_bytes: number;
  /** Sandboxes that run on it. */
  sandboxes: number;
  last_used_at: string;
  /** Bytes of its disk for virtual machines; absent without one. */
  disk_bytes?: number;
}

/** Finds an image by the name that a person or a spawn gives; undefined when the store has none. */
export async function findStored(root: string, name: string, now: number): Promise<FoundImage | undefined> {
  const paths = storePaths(root);
  const complete = completeOrUndefined(name);
  const stored = complete === undefined ? undefined : await readName(paths, complete);
  const image = stored && (await readImage(paths, stored.digest));
  if (!stored || !image) return undefined;
  await noteUse(paths, stored.name, now);
  return { ...stored, image, tree: join(treeFolder(paths, image.chain_id), 'fs') };
}

/** As `findStored`, for a start: undefined also for a private image, unless the start may use those. */
export async function findFor(
  root: string,
  { image, private_images }: { image: string; private_images?: boolean | undefined },
  now: number,
): Promise<FoundImage | undefined> {
  const found = await findStored(root, image, now);
  return found?.access === 'private' && !private_images ? undefined : found;
}

/** Names of other kinds of images may be wider. */
function completeOrUndefined(name: string): string | undefined {
  try {
    return completeImageName(name);
  } catch {
    return undefined;
  }
}

/** Short names of all images, sorted. */
export async function storedNames(root: string): Promise<string[]> {
  return (await readNames(storePaths(root))).map(({ name }) => shortImageName(name));
}

export async function listStored(root: string): Promise<ListedImage[]> {
  const paths = storePaths(root);
  const listed: ListedImage[] = [];
  const names = await readNames(paths);
  const images = new Map<string, StoredImage>();
  for (const { digest } of names) {
    const image = await readImage(paths, digest);
    if (image) images.set(digest, image);
  }
  for (const name of names) {
    const image = images.get(name.digest);
    if (!image) continue;
    const others = [...images.values()].filter(({ digest }) => digest !== image.digest);
    const disk = await stat(diskFile(paths, image.chain_id)).catch(() => undefined);
    listed.push({
      ...name,
      image,
      tree: join(treeFolder(paths, image.chain_id), 'fs'),
      shared_bytes: await sharedBytes(paths, image, others),
      sandboxes: (await usersOf(treeFolder(paths, image.chain_id))).length,
      last_used_at: new Date(await lastUse(paths, name.name)).toISOString(),
      ...(disk && { disk_bytes: disk.size }),
    });
  }
  return listed;
}

async function sharedBytes(
  paths: StorePaths,
  { layers }: StoredImage,
  others: readonly StoredImage[],
): Promise<number> {
  const elsewhere = new Set(others.flatMap((other) => other.layers));
  const sizes = await Promise.all(
    layers.filter((diffId) => elsewhere.has(diffId)).map((diffId) => layerBytes(paths, diffId)),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

export interface LayerFacts {
  bytes: number;
  files: number;
  devices: number;
  entries: number;
  unpacked_at?: string;
  /** It was pulled with credentials: pulls and imports that have none must bring its bytes themselves. */
  private?: boolean;
}

export async function readLayer(paths: StorePaths, diffId: string): Promise<LayerFacts | undefined> {
  const text = await readFile(join(layerFolder(paths, diffId), 'layer.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as LayerFacts);
}

const layerBytes = async (paths: StorePaths, diffId: string) => (await readLayer(paths, diffId))?.bytes ?? 0;

/** Gives an image a second name, or moves a name to it. Throws `not_found` and `bad_request`. */
export async function tagStored(deps: StoreDeps, name: string, other: string): Promise<StoredName> {
  const paths = storePaths(deps.root);
  const complete = completeImageName(other);
  const found = await findStored(deps.root, name, deps.clock.now());
  if (!found) throw noStoredImage(name);
  return withStoreLock({ ...deps, paths }, new AbortController().signal, async () => {
    const { digest, source, access } = found;
    const whose = access === undefined ? {} : { access };
    const record = {
      name: complete,
      digest,
      source,
      ...whose,
      imported_at: new Date(deps.clock.now()).toISOString(),
    };
    await writeRecord(nameFile(paths, complete), record);
    return record;
  });
}

/** Removes a name, and what no name leads to afterwards. Throws `not_found`, and `conflict` while sandboxes run on it. */
export async function removeStored(deps: StoreDeps, name: string): Promise<Removal> {
  const paths = storePaths(deps.root);
  const found = await findStored(deps.root, name, deps.clock.now());
  if (!found) throw noStoredImage(name);
  return withStoreLock({ ...deps, paths }, new AbortController().signal, async () => {
    const others = (await readNames(paths)).filter((other) => other.name !== found.name);
    const isLast = !others.some(({ digest }) => digest === found.digest);
    const { length } = isLast ? await usersOf(join(found.tree, '..')) : [];
    if (length > 0) throw imageInUse(name, length);
    await rm(nameFile(paths, found.name), { force: true });
    return { names: [shortImageName(found.name)], freed_bytes: await collect(deps, paths) };
  });
}

export interface Removal {
  names: string[];
  freed_bytes: number;
}

export interface PruneRequest {
  /** Only names that were not used for as long, in ms; 0: all that no sandbox uses. */
  unusedForMs: number;
  /** Says what would be removed. */
  dryRun: boolean;
  /** Only names that a pull gave, and can give again: nothing that was imported or tagged. */
  pulledOnly?: boolean;
}

/** Removes unused images, and what killed imports and interrupted pulls left. */
export async function pruneStored(deps: StoreDeps, request: PruneRequest): Promise<Removal> {
  const { unusedForMs, dryRun, pulledOnly = false } = request;
  const paths = storePaths(deps.root);
  await makeStore(paths);
  return withStoreLock({ ...deps, paths }, new AbortController().signal, async () => {
    const old: ListedImage[] = [];
    for (const image of await listStored(deps.root)) {
      const isOld = deps.clock.now() - Date.parse(image.last_used_at) >= unusedForMs;
      const isWanted = !pulledOnly || image.resolved !== undefined;
      if (isOld && isWanted && image.sandboxes === 0) old.push(image);
    }
    const names = old.map(({ name }) => shortImageName(name));
    if (dryRun)
      return {
        names,
        freed_bytes: old.reduce((sum, { image, disk_bytes = 0 }) => sum + image.size_bytes + disk_bytes, 0),
      };
    for (const { name } of old) await rm(nameFile(paths, name), { force: true });
    await sweepParts(deps.agent, paths, Number.POSITIVE_INFINITY);
    return { names, freed_bytes: await collect(deps, paths) };
  });
}

/**
 * Removes images, trees, disks and layers that no name leads to, and what killed processes left. Trees in use stay, and their
 * disks; and layers that were unpacked since the first import or pull began that has not ended.
 */
async function collect({ agent }: StoreDeps, paths: StorePaths): Promise<number> {
  const since = await sweepTemporary({ agent, paths });
  const kept = new Set((await readNames(paths)).map(({ digest }) => digest));
  const images: StoredImage[] = [];
  for (const file of await entriesOf(paths.images)) {
    const digest = `sha256:${file.replace(/\.json.*$/, '')}`;
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
