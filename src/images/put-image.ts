// Puts images into the store: layers that are not there yet are unpacked, and each image gets its tree. Interrupted at any
// moment, the store has an image completely or not at all, and only tmp keeps remains.
import { createHash, type Hash } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../domain/errors.ts';
import type { ArchivedImage, ArchivedLayer } from './archive-images.ts';
import { decompressed } from './decompress.ts';
import type { FoundImage } from './found-images.ts';
import { refuseReserved, type StoreDeps } from './image-store.ts';
import { invalid } from './invalid-image.ts';
import { requireRoom, watchRoom } from './room.ts';
import { type LockDeps, withStoreLock } from './store-lock.ts';
import {
  chainId,
  digestOf,
  hexOf,
  imageFile,
  layerFolder,
  makeOwned,
  nameFile,
  type StorePaths,
  treeFolder,
} from './store-paths.ts';
import {
  exists,
  type LayerFacts,
  readLayer,
  readName,
  requireNames,
  type StoredImage,
  type StoredName,
  writeRecord,
} from './store-records.ts';
import { mergeLayers, tooLarge, type UnpackCounts, type UnpackLimits, unpackTar } from './unpack.ts';

export interface LayerEvent {
  /** From 1. */
  layer: number;
  layers: number;
  /** Bytes of it in the archive. */
  doneBytes: number;
  totalBytes: number;
}

/** One run of an import or a pull. */
export interface Putting extends LockDeps {
  deps: StoreDeps;
  /** In tmp. */
  folder: string;
  signal: AbortSignal;
  /** What is left of the limits of the image whose layers are read. */
  left?: UnpackLimits;
  /** What it stores is private, as far as it is not in the store. */
  isPrivate?: boolean;
  /** It may not rely on private layers of the store, and brings their bytes. */
  provesLayers?: boolean;
  /** It may not replace names of private images. */
  keepsPrivate?: boolean;
  onLayer?: ((event: LayerEvent) => void) | undefined;
}

/** What the names of an image say. */
export interface ImageNames extends Pick<StoredName, 'source' | 'resolved' | 'access'> {
  /** Complete. */
  names: readonly string[];
}

/** What is known of an image apart from the bytes of its layers. */
export type ImageFacts = Pick<
  ArchivedImage,
  'platform' | 'config' | 'unusedVariables' | 'digest' | 'configDigest'
>;

/** Makes the tree of an image whose layers are in the store, and gives it its names. Nobody sees it without them, or removes it. */
export async function putImage(
  putting: Putting,
  image: ImageFacts,
  layers: readonly string[],
  { names, ...source }: ImageNames,
): Promise<void> {
  const { paths } = putting;
  const read = await Promise.all(layers.map((diffId) => readLayer(paths, diffId)));
  const facts = read.filter((fact) => fact !== undefined);
  const stored = describe(image, layers, facts);
  checkSize(putting.deps.limits, facts);
  await withStoreLock(putting, putting.signal, async () => {
    if (putting.keepsPrivate) await refuseReserved(paths, names);
    await requireNames(paths, names);
    await putTree(putting, stored);
    await writeRecord(imageFile(paths, stored.digest), stored);
    const imported_at = new Date(putting.clock.now()).toISOString();
    for (const name of names) {
      const record: StoredName = { name, digest: stored.digest, imported_at, ...source };
      await writeRecord(nameFile(paths, name), record);
    }
  });
}

/** Layers that the store had count, too. */
function checkSize({ maxBytes, maxEntries }: UnpackLimits, facts: readonly LayerFacts[]): void {
  const [bytes, entries] = [sumOf(facts, 'bytes'), sumOf(facts, 'entries')];
  if (bytes > maxBytes || entries > maxEntries) throw tooLarge();
}

const sumOf = (facts: readonly LayerFacts[], key: 'bytes' | 'files' | 'devices' | 'entries') =>
  facts.reduce((total, fact) => total + fact[key], 0);

function describe(image: ImageFacts, layers: readonly string[], facts: readonly LayerFacts[]): StoredImage {
  const { platform, config, unusedVariables } = image;
  const configDigest = image.configDigest ?? digestOf(JSON.stringify({ platform, config, layers }));
  const devices = sumOf(facts, 'devices');
  return {
    digest: image.digest ?? configDigest,
    config_digest: configDigest,
    platform,
    layers: [...layers],
    chain_id: chainId(layers),
    config,
    size_bytes: sumOf(facts, 'bytes'),
    files: sumOf(facts, 'files'),
    warnings: [
      ...(devices > 0 ? [`${devices} device files and pipes are left out.`] : []),
      ...(unusedVariables > 0
        ? [
            `${unusedVariables} environment variables are left out: they are not NAME=VALUE, or have more than 16 KiB.`,
          ]
        : []),
    ],
  };
}

/** Opens a private image of the store to all, or to those who may pull it later too. */
export async function openStored(
  putting: LockDeps,
  { name, image }: FoundImage,
  access: 'shared' | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { paths } = putting;
  await withStoreLock(putting, signal, async () => {
    const stored = await readName(paths, name);
    if (stored?.digest !== image.digest) return;
    const { access: _, ...facts } = stored;
    await writeRecord(nameFile(paths, name), access === undefined ? facts : { ...facts, access });
    for (const diffId of image.layers) await openLayer(paths, diffId);
  });
}

/** Below the store's lock. */
async function openLayer(paths: StorePaths, diffId: string): Promise<void> {
  const { private: isPrivate, ...facts } = (await readLayer(paths, diffId)) ?? {};
  if (isPrivate) await writeRecord(join(layerFolder(paths, diffId), 'layer.json'), facts);
}

/** Whether a layer of the store spares this run from reading it. */
export async function hasLayer({ paths, provesLayers }: Putting, diffId: string): Promise<boolean> {
  const known = await readLayer(paths, diffId);
  return known !== undefined && !(known.private && provesLayers);
}

/** Returns its diff_id. A layer that is in the store is not read. */
export async function putLayer(
  putting: Putting,
  layer: ArchivedLayer,
  diffId: string | undefined,
  progress: Pick<LayerEvent, 'layer' | 'layers'>,
): Promise<string> {
  const { paths, deps, signal, folder, agent } = putting;
  if (diffId !== undefined && (await hasLayer(putting, diffId))) return diffId;
  const work = join(folder, `layer-${putting.random.bytes(6).toString('hex')}`);
  await makeOwned(work);
  const target = join(work, 'fs');
  await makeOwned(target);
  const { room } = deps;
  const { size, bytes } = await layer.open();
  const hash = layer.digest === undefined ? undefined : createHash('sha256');
  const watched = watch(bytes, hash, (doneBytes) =>
    putting.onLayer?.({ ...progress, doneBytes, totalBytes: size }),
  );
  const order = { agent, ...limitsOf(putting), target, records: join(work, 'entries'), signal };
  const plain = await decompressed(deps.host, watched);
  const { counts, digest } = await unpackTar(order, room ? watchRoom(paths, room, plain) : plain).finally(
    () => bytes.destroy(),
  );
  if (putting.left) takeFrom(putting.left, counts);
  if (hash && `sha256:${hash.digest('hex')}` !== layer.digest)
    throw invalid(`Layer ${progress.layer} of the image differs from its digest.`);
  if (diffId !== undefined && digest !== diffId)
    throw invalid(`Layer ${progress.layer} of the image differs from the digest in its config.`);
  await writeRecord(join(work, 'layer.json'), {
    ...counts,
    ...(putting.isPrivate && { private: true }),
    unpacked_at: new Date(putting.clock.now()).toISOString(),
  });
  await withStoreLock(putting, signal, async () => {
    if (room) await requireRoom(paths, room, counts.bytes);
    await install(work, layerFolder(paths, digest));
    if (!putting.isPrivate) await openLayer(paths, digest);
  });
  return digest;
}

/** A layer may take what its image has left, or the least that the unpacker accepts. Layers that are read at once may take more together. */
const limitsOf = ({ deps: { limits }, left = limits }: Putting): UnpackLimits => ({
  maxBytes: Math.max(1, Math.min(limits.maxBytes, left.maxBytes)),
  maxEntries: Math.max(1, Math.min(limits.maxEntries, left.maxEntries)),
});

function takeFrom(left: UnpackLimits, { bytes, entries }: UnpackCounts): void {
  left.maxBytes -= bytes;
  left.maxEntries -= entries;
}

/** Counts what is read of a layer, and hashes it where a digest is known. */
function watch(bytes: Readable, hash: Hash | undefined, onBytes: (done: number) => void): Transform {
  let done = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _, next) {
      hash?.update(chunk);
      done += chunk.length;
      onBytes(done);
      next(null, chunk);
    },
  });
  pipeline(bytes, stream).catch(() => undefined);
  return stream;
}

/** Another process may have been faster. */
async function install(work: string, folder: string): Promise<void> {
  if (await exists(folder)) return;
  await syncFolder(work);
  await rename(work, folder);
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

/** Below the store's lock: no layer is removed meanwhile. */
async function putTree(putting: Putting, stored: StoredImage): Promise<void> {
  const final = treeFolder(putting.paths, stored.chain_id);
  if (!(await exists(final))) await install(await mergeTree(putting, stored), final);
}

/**
 * Makes the tree of stored layers in tmp, and returns its folder. `origins` gets what agent/src/image/origin.h says. Call it with
 * the store's lock. Throws `conflict` without a layer.
 */
export async function mergeTree(
  putting: Putting,
  { chain_id, layers }: Pick<StoredImage, 'chain_id' | 'layers'>,
  origins = '/dev/null',
): Promise<string> {
  const { paths, deps, signal, folder, agent } = putting;
  for (const diffId of layers)
    if (!(await readLayer(paths, diffId)))
      throw new ServiceError('conflict', 'A layer of the image was removed meanwhile.', {
        remedy: 'Pull or import the image again.',
      });
  const work = join(folder, `tree-${hexOf(chain_id).slice(0, 12)}`);
  await makeOwned(work);
  await makeOwned(join(work, 'fs'));
  await makeOwned(join(work, 'uses'));
  const inStore = (path: string) => path.slice(paths.root.length + 1);
  const merge = [inStore(join(work, 'fs')), ...layers.map((diffId) => inStore(layerFolder(paths, diffId)))];
  const order = {
    agent,
    ...deps.limits,
    target: paths.root,
    records: origins,
    merge,
    signal,
  };
  await mergeLayers(order);
  await writeRecord(join(work, 'tree.json'), { chain_id, layers });
  return work;
}
