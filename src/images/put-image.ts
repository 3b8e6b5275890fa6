// Puts images into the store: layers that are not there yet are unpacked, and each image gets its tree. Interrupted at any
// moment, the store has an image completely or not at all, and only tmp keeps remains.
import { createHash } from 'node:crypto';
import { open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../domain/errors.ts';
import type { ArchivedImage, ArchivedLayer } from './archive-images.ts';
import { decompressed } from './decompress.ts';
import { type LayerFacts, readLayer, type StoreDeps } from './image-store.ts';
import { invalid } from './members.ts';
import { type LockDeps, withStoreLock } from './store-lock.ts';
import {
  chainId,
  digestOf,
  hexOf,
  imageFile,
  layerFolder,
  makeOwned,
  nameFile,
  treeFolder,
} from './store-paths.ts';
import { type StoredImage, type StoredName, writeRecord } from './store-records.ts';
import { mergeLayers, unpackTar } from './unpack.ts';

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
  onLayer?: ((event: LayerEvent) => void) | undefined;
}

/** Writes the name, which leads to an image of the store. */
export async function putName(
  putting: Putting,
  facts: Pick<StoredName, 'name' | 'digest' | 'source' | 'resolved'>,
): Promise<void> {
  const stored = { ...facts, imported_at: new Date(putting.clock.now()).toISOString() };
  await withStoreLock(putting, putting.signal, () =>
    writeRecord(nameFile(putting.paths, facts.name), stored),
  );
}

/** What is known of an image apart from the bytes of its layers. */
export type ImageFacts = Pick<ArchivedImage, 'platform' | 'config' | 'digest' | 'configDigest'>;

/** Makes the tree of an image whose layers are in the store, and returns its digest. */
export async function putImage(
  putting: Putting,
  image: ImageFacts,
  layers: readonly string[],
): Promise<string> {
  const { paths } = putting;
  const facts = await Promise.all(layers.map((diffId) => readLayer(paths, diffId)));
  const stored = describe(
    image,
    layers,
    facts.filter((fact) => fact !== undefined),
  );
  await withStoreLock(putting, putting.signal, async () => {
    await putTree(putting, stored);
    await writeRecord(imageFile(paths, stored.digest), stored);
  });
  return stored.digest;
}

function describe(image: ImageFacts, layers: readonly string[], facts: readonly LayerFacts[]): StoredImage {
  const { platform, config } = image;
  const sum = (key: keyof LayerFacts) => facts.reduce((total, fact) => total + fact[key], 0);
  const configDigest = image.configDigest ?? digestOf(JSON.stringify({ platform, config, layers }));
  const devices = sum('devices');
  return {
    digest: image.digest ?? configDigest,
    config_digest: configDigest,
    platform,
    layers: [...layers],
    chain_id: chainId(layers),
    config,
    size_bytes: sum('bytes'),
    files: sum('files'),
    warnings: devices > 0 ? [`${devices} device files and pipes are left out.`] : [],
  };
}

/** Returns its diff_id. A layer that is in the store is not read. */
export async function putLayer(
  putting: Putting,
  layer: ArchivedLayer,
  diffId: string | undefined,
  progress: Pick<LayerEvent, 'layer' | 'layers'>,
): Promise<string> {
  const { paths, deps, signal, folder, agent } = putting;
  if (diffId !== undefined && (await readLayer(paths, diffId))) return diffId;
  const work = join(folder, `layer-${progress.layer}`);
  await makeOwned(work);
  const target = join(work, 'fs');
  await makeOwned(target);
  const { size, bytes } = await layer.open();
  const watched = watch(bytes, (doneBytes) =>
    putting.onLayer?.({ ...progress, doneBytes, totalBytes: size }),
  );
  const order = { agent, ...deps.limits, target, records: join(work, 'entries'), signal };
  const plain = await decompressed(deps.host, watched.stream);
  const { counts, digest } = await unpackTar(order, plain).finally(() => bytes.destroy());
  if (layer.digest !== undefined && watched.digest() !== layer.digest)
    throw invalid(`Layer ${progress.layer} of the image differs from its digest.`);
  if (diffId !== undefined && digest !== diffId)
    throw invalid(`Layer ${progress.layer} of the image differs from the digest in its config.`);
  await writeRecord(join(work, 'layer.json'), {
    ...counts,
    unpacked_at: new Date(putting.clock.now()).toISOString(),
  });
  await withStoreLock(putting, signal, () => install(work, layerFolder(paths, digest)));
  return digest;
}

/** Counts and hashes what is read of a layer. */
function watch(bytes: Readable, onBytes: (done: number) => void) {
  const hash = createHash('sha256');
  let done = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _, next) {
      hash.update(chunk);
      done += chunk.length;
      onBytes(done);
      next(null, chunk);
    },
  });
  pipeline(bytes, stream).catch(() => undefined);
  return { stream, digest: () => `sha256:${hash.digest('hex')}` };
}

/** Another process may have been faster. */
async function install(work: string, folder: string): Promise<void> {
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  if (isThere) return;
  await syncFolder(work);
  await rename(work, folder);
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

/** Below the store's lock: no layer is removed meanwhile. */
async function putTree(putting: Putting, { chain_id, layers }: StoredImage): Promise<void> {
  const { paths, deps, signal, folder, agent } = putting;
  const final = treeFolder(paths, chain_id);
  if (await stat(final).catch(() => undefined)) return;
  for (const diffId of layers)
    if (!(await readLayer(paths, diffId)))
      throw new ServiceError('conflict', 'A layer of the image was removed during the import.', {
        remedy: 'Import the image again.',
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
    records: '/dev/null',
    merge,
    signal,
  };
  await mergeLayers(order);
  await writeRecord(join(work, 'tree.json'), { chain_id, layers });
  await install(work, final);
}
