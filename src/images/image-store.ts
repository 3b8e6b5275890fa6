// The image store of this machine: what it holds, and removing what nobody needs. `import.ts` puts images into it.
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { completeImageName, shortImageName } from '../domain/image-name.ts';
import { type ImageView, reservedName } from '../domain/machine-images.ts';
import type { Host } from '../host/host.ts';
import { collect } from './collect.ts';
import { type FoundImage, findNamed } from './found-images.ts';
import { imageInUse, noStoredImage } from './image-faults.ts';
import { sweepParts } from './registry/part-files.ts';
import { type LockDeps, withStoreLock } from './store-lock.ts';
import { diskFile, makeStore, nameFile, type StorePaths, storePaths, treeFolder } from './store-paths.ts';
import {
  lastUse,
  readImage,
  readLayer,
  readName,
  readNames,
  requireNames,
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

export interface ListedImage extends FoundImage {
  /** Bytes in layers that other images have, too. */
  shared_bytes: number;
  /** Sandboxes that run on it. */
  sandboxes: number;
  last_used_at: string;
  /** Bytes of its disk for virtual machines; absent without one. */
  disk_bytes?: number;
}

/** An administrator's. */
const ALL_IMAGES: ImageView = { private_images: true };

/** Finds an image by the name that a person or a spawn gives; undefined when the store has none. */
export async function findStored(root: string, name: string, now: number): Promise<FoundImage | undefined> {
  const complete = completeOrUndefined(name);
  return complete === undefined ? undefined : findNamed(storePaths(root), complete, now);
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

/** Throws `forbidden` when one of the names leads to a private image. Call it with the store's lock. */
export async function refuseReserved(paths: StorePaths, names: readonly string[]): Promise<void> {
  for (const name of names) if ((await readName(paths, name))?.access === 'private') throw reservedName();
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

/** The images whose names are wanted, the first `most` by name. */
export async function listStored(
  root: string,
  isWanted: (name: StoredName) => boolean = () => true,
  most = Number.POSITIVE_INFINITY,
): Promise<ListedImage[]> {
  const paths = storePaths(root);
  const listed: ListedImage[] = [];
  const names = await readNames(paths);
  const images = new Map<string, StoredImage>();
  for (const { digest } of names) {
    const image = images.has(digest) ? undefined : await readImage(paths, digest);
    if (image) images.set(digest, image);
  }
  const uses = layerUses([...images.values()]);
  for (const name of names.filter(isWanted)) {
    const image = images.get(name.digest);
    if (!image) continue;
    if (listed.length >= most) break;
    const disk = await stat(diskFile(paths, image.chain_id)).catch(() => undefined);
    listed.push({
      ...name,
      image,
      tree: join(treeFolder(paths, image.chain_id), 'fs'),
      shared_bytes: await sharedBytes(paths, image, uses),
      sandboxes: (await usersOf(treeFolder(paths, image.chain_id))).length,
      last_used_at: new Date(await lastUse(paths, name.name)).toISOString(),
      ...(disk && { disk_bytes: disk.size }),
    });
  }
  return listed;
}

/** How many images have each layer. */
function layerUses(images: readonly StoredImage[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (const { layers } of images)
    for (const diffId of new Set(layers)) uses.set(diffId, (uses.get(diffId) ?? 0) + 1);
  return uses;
}

async function sharedBytes(
  paths: StorePaths,
  { layers }: StoredImage,
  uses: ReadonlyMap<string, number>,
): Promise<number> {
  const shared = layers.filter((diffId) => (uses.get(diffId) ?? 0) > 1);
  const sizes = await Promise.all(shared.map((diffId) => layerBytes(paths, diffId)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const layerBytes = async (paths: StorePaths, diffId: string) => (await readLayer(paths, diffId))?.bytes ?? 0;

/**
 * Gives an image a second name, or moves a name to it. Throws `not_found`, `bad_request`, and `forbidden` for the name of a
 * private image that is not for the caller.
 */
export async function tagStored(
  deps: StoreDeps,
  name: string,
  other: string,
  view: ImageView = ALL_IMAGES,
): Promise<StoredName> {
  const paths = storePaths(deps.root);
  const complete = completeImageName(other);
  const found = await findFor(deps.root, { image: name, ...view }, deps.clock.now());
  if (!found) throw noStoredImage(name);
  return withStoreLock({ ...deps, paths }, new AbortController().signal, async () => {
    if (!view.private_images) await refuseReserved(paths, [complete]);
    await requireNames(paths, [complete]);
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
export async function removeStored(
  deps: StoreDeps,
  name: string,
  view: ImageView = ALL_IMAGES,
): Promise<Removal> {
  const paths = storePaths(deps.root);
  const found = await findFor(deps.root, { image: name, ...view }, deps.clock.now());
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
  /** Leaves private images. */
  publicOnly?: boolean;
}

/** Bytes of layers and disks that only these of all images have. */
async function freedBy(
  paths: StorePaths,
  gone: readonly ListedImage[],
  all: readonly ListedImage[],
): Promise<number> {
  const names = new Set(gone.map(({ name }) => name));
  const kept = all.filter(({ name }) => !names.has(name)).map(({ image }) => image);
  const layers = new Set(gone.flatMap(({ image }) => image.layers));
  for (const diffId of kept.flatMap((image) => image.layers)) layers.delete(diffId);
  const disks = new Map(gone.map(({ image, disk_bytes = 0 }) => [image.chain_id, disk_bytes]));
  for (const { chain_id } of kept) disks.delete(chain_id);
  const sizes = await Promise.all([...layers].map((diffId) => layerBytes(paths, diffId)));
  return [...sizes, ...disks.values()].reduce((sum, size) => sum + size, 0);
}

/** Removes unused images, and what killed imports and interrupted pulls left. */
export async function pruneStored(deps: StoreDeps, request: PruneRequest): Promise<Removal> {
  const { unusedForMs, dryRun, pulledOnly = false, publicOnly = false } = request;
  const paths = storePaths(deps.root);
  await makeStore(paths);
  return withStoreLock({ ...deps, paths }, new AbortController().signal, async () => {
    const old: ListedImage[] = [];
    const isWanted = ({ resolved, access }: StoredName) =>
      (!pulledOnly || resolved !== undefined) && !(publicOnly && access === 'private');
    for (const image of await listStored(deps.root, isWanted)) {
      const isOld = deps.clock.now() - Date.parse(image.last_used_at) >= unusedForMs;
      if (isOld && image.sandboxes === 0) old.push(image);
    }
    const names = old.map(({ name }) => shortImageName(name));
    if (dryRun) return { names, freed_bytes: await freedBy(paths, old, await listStored(deps.root)) };
    for (const { name } of old) await rm(nameFile(paths, name), { force: true });
    await sweepParts(deps.agent, paths, Number.POSITIVE_INFINITY);
    return { names, freed_bytes: await collect(deps, paths) };
  });
}
