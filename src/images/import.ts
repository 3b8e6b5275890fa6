// Imports images from an archive on this machine: layers that are not in the store yet are unpacked, and each image gets its
// tree. Interrupted at any moment, the store has an image completely or not at all, and only tmp keeps remains.

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../domain/errors.ts';
import { completeImageName } from '../domain/image-name.ts';
import { type ArchivedImage, type ArchivedLayer, openArchive } from './archive-images.ts';
import { decompressed } from './decompress.ts';
import { type FoundImage, findStored, type LayerFacts, readLayer, type StoreDeps } from './image-store.ts';
import { invalid } from './members.ts';
import { type LockDeps, withStoreLock, withTemporary } from './store-lock.ts';
import {
  chainId,
  digestOf,
  hexOf,
  imageFile,
  layerFolder,
  makeOwned,
  makeStore,
  nameFile,
  storePaths,
  treeFolder,
} from './store-paths.ts';
import { type StoredImage, writeRecord } from './store-records.ts';
import { mergeLayers, unpackTar } from './unpack.ts';

export interface ImportRequest {
  /** A tar, a folder with an OCI layout, or a stream of a tar. */
  source: string | Readable;
  /** Instead of the names in the archive. */
  name?: string | undefined;
  signal: AbortSignal;
  onLayer?(event: LayerEvent): void;
}

export interface LayerEvent {
  /** From 1. */
  layer: number;
  layers: number;
  /** Bytes of it in the archive. */
  doneBytes: number;
  totalBytes: number;
}

interface Importing extends LockDeps {
  deps: StoreDeps;
  request: ImportRequest;
  /** In tmp. */
  folder: string;
}

/**
 * Returns the images by name. Throws `bad_request` (no tar, no name), `provider_error` (damaged or hostile), `resource_limit`,
 * `unavailable`, system errors of the source, and the signal's reason.
 */
export async function importImages(deps: StoreDeps, request: ImportRequest): Promise<FoundImage[]> {
  const paths = storePaths(deps.root);
  const lock: LockDeps = { ...deps, paths };
  await makeStore(paths);
  const names = await withTemporary(lock, request.signal, async (folder) => {
    const importing = { ...lock, deps, request, folder };
    const archive = await openArchive(await plainArchive(importing), request.signal);
    try {
      return await importAll(importing, archive);
    } finally {
      await archive.close();
    }
  });
  const found = await Promise.all(names.map((name) => findStored(deps.root, name, deps.clock.now())));
  return found.filter((image) => image !== undefined);
}

async function importAll(
  importing: Importing,
  { kind, images }: { kind: string; images: ArchivedImage[] },
): Promise<string[]> {
  const { name } = importing.request;
  if (images.length === 0) throw invalid('The archive has no images.');
  if (name !== undefined && images.length > 1)
    throw new ServiceError('bad_request', 'The archive has several images, so one name does not suffice.', {
      remedy: 'Import it without a name.',
    });
  const all = images.map((image) => ({ image, names: namesFor(image, name) }));
  const done: string[] = [];
  for (const { image, names } of all) {
    const digest = await importImage(importing, image);
    for (const complete of names) {
      const stored = {
        name: complete,
        digest,
        source: kind,
        imported_at: new Date(importing.clock.now()).toISOString(),
      };
      await withStoreLock(importing, importing.request.signal, () =>
        writeRecord(nameFile(importing.paths, complete), stored),
      );
      done.push(complete);
    }
  }
  return done;
}

function namesFor({ names }: ArchivedImage, name: string | undefined): string[] {
  const wanted = name === undefined ? names : [name];
  if (wanted.length > 0) return wanted.map(completeImageName);
  throw new ServiceError('bad_request', 'The archive does not name its image.', {
    remedy: 'Give a name with --name.',
  });
}

async function importImage(importing: Importing, image: ArchivedImage): Promise<string> {
  const { paths, request } = importing;
  const layers: string[] = [];
  for (const [at, layer] of image.layers.entries()) {
    const known = image.diffIds?.[at];
    const progress = { layer: at + 1, layers: image.layers.length };
    layers.push(await importLayer(importing, layer, known, progress));
  }
  const facts = await Promise.all(layers.map((diffId) => readLayer(paths, diffId)));
  const stored = describe(
    image,
    layers,
    facts.filter((fact) => fact !== undefined),
  );
  await withStoreLock(importing, request.signal, async () => {
    await importTree(importing, stored);
    await writeRecord(imageFile(paths, stored.digest), stored);
  });
  return stored.digest;
}

function describe(image: ArchivedImage, layers: string[], facts: readonly LayerFacts[]): StoredImage {
  const { platform, config } = image;
  const sum = (key: keyof LayerFacts) => facts.reduce((total, fact) => total + fact[key], 0);
  const configDigest = image.configDigest ?? digestOf(JSON.stringify({ platform, config, layers }));
  const devices = sum('devices');
  return {
    digest: image.digest ?? configDigest,
    config_digest: configDigest,
    platform,
    layers,
    chain_id: chainId(layers),
    config,
    size_bytes: sum('bytes'),
    files: sum('files'),
    warnings: devices > 0 ? [`${devices} device files and pipes are left out.`] : [],
  };
}

/** Returns its diff_id. A layer that is in the store is not read. */
async function importLayer(
  importing: Importing,
  layer: ArchivedLayer,
  diffId: string | undefined,
  progress: Pick<LayerEvent, 'layer' | 'layers'>,
): Promise<string> {
  const { paths, deps, request, folder, agent } = importing;
  if (diffId !== undefined && (await readLayer(paths, diffId))) return diffId;
  const work = join(folder, `layer-${progress.layer}`);
  await makeOwned(work);
  const target = join(work, 'fs');
  await makeOwned(target);
  const { size, bytes } = await layer.open();
  const watched = watch(bytes, (doneBytes) =>
    request.onLayer?.({ ...progress, doneBytes, totalBytes: size }),
  );
  const order = { agent, ...deps.limits, target, records: join(work, 'entries'), signal: request.signal };
  const plain = await decompressed(deps.host, watched.stream);
  const { counts, digest } = await unpackTar(order, plain).finally(() => bytes.destroy());
  if (layer.digest !== undefined && watched.digest() !== layer.digest)
    throw invalid(`Layer ${progress.layer} of the image differs from its digest.`);
  if (diffId !== undefined && digest !== diffId)
    throw invalid(`Layer ${progress.layer} of the image differs from the digest in its config.`);
  await writeRecord(join(work, 'layer.json'), {
    ...counts,
    unpacked_at: new Date(importing.clock.now()).toISOString(),
  });
  await withStoreLock(importing, request.signal, () => install(work, layerFolder(paths, digest)));
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
async function importTree(importing: Importing, { chain_id, layers }: StoredImage): Promise<void> {
  const { paths, deps, request, folder, agent } = importing;
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
    signal: request.signal,
  };
  await mergeLayers(order);
  await writeRecord(join(work, 'tree.json'), { chain_id, layers });
  await install(work, final);
}

/** The archive as a plain tar that can seek, or the folder. */
async function plainArchive({ request, folder, deps }: Importing): Promise<string> {
  const { source, signal } = request;
  if (typeof source === 'string') {
    if ((await stat(source)).isDirectory() || !(await isCompressed(source))) return source;
  }
  const packed = typeof source === 'string' ? createReadStream(source) : source;
  const path = join(folder, 'archive.tar');
  const most = deps.limits.maxBytes + deps.limits.maxEntries * 4096;
  let size = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length;
      done(size > most ? tooLarge() : null, chunk);
    },
  });
  await pipeline(await decompressed(deps.host, packed), bounded, createWriteStream(path, { mode: 0o600 }), {
    signal,
  }).catch((error: unknown) => {
    throw `${(error as { code?: unknown }).code}`.startsWith('Z_')
      ? invalid('The archive is damaged.', error)
      : error;
  });
  return path;
}

/** A tar has the word `ustar` in its first block. */
async function isCompressed(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(512), 0, 512, 0);
    return buffer.toString('latin1', 257, 262) !== 'ustar';
  } finally {
    await file.close();
  }
}

function tooLarge(): ServiceError {
  return new ServiceError('resource_limit', 'The archive is larger than allowed.', {
    status: 507,
    remedy: 'Use a smaller image, or raise images.max_image_bytes.',
  });
}
