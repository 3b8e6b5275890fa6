// Imports images from an archive on this machine, of whichever kind.
import { createReadStream, createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../domain/errors.ts';
import { completeImageName } from '../domain/image-name.ts';
import { type ArchivedImage, openArchive } from './archive-images.ts';
import { collect } from './collect.ts';
import { decompressed } from './decompress.ts';
import type { FoundImage } from './found-images.ts';
import { findStored, refuseReserved, type StoreDeps } from './image-store.ts';
import { invalid } from './invalid-image.ts';
import { type LayerEvent, type Putting, putImage, putLayer } from './put-image.ts';
import { watchRoom } from './room.ts';
import { type LockDeps, withStoreLock, withTemporary } from './store-lock.ts';
import { makeStore, storePaths } from './store-paths.ts';
import { asDiskFull } from './unpack.ts';

export interface ImportRequest {
  /** A tar, a folder with an OCI layout, or a stream of a tar. */
  source: string | Readable;
  /** Instead of the names in the archive. */
  name?: string | undefined;
  /** Whether it may rely on private layers of the store, and replace names of private images; true unless given. */
  private_images?: boolean | undefined;
  signal: AbortSignal;
  onLayer?(event: LayerEvent): void;
}

interface Importing extends Putting {
  request: ImportRequest;
}

/**
 * Returns the images by name. Nothing is left of an import that fails. Throws `bad_request` (no tar, no name), `provider_error` (damaged or hostile), `resource_limit`,
 * `unavailable`, system errors of the source, and the signal's reason.
 */
export async function importImages(deps: StoreDeps, request: ImportRequest): Promise<FoundImage[]> {
  // The reader gets the failure of the stream. Until there is a reader, it must not end the process.
  if (typeof request.source !== 'string') request.source.on('error', () => undefined);
  const paths = storePaths(deps.root);
  const lock: LockDeps = { ...deps, paths };
  await makeStore(paths);
  const names = await withTemporary(lock, request.signal, async (folder) => {
    const { signal, onLayer, private_images = true } = request;
    const limits = { provesLayers: !private_images, keepsPrivate: !private_images };
    const importing = { ...lock, ...limits, deps, request, folder, signal, onLayer };
    const archive = await openArchive(await plainArchive(importing), request.signal);
    try {
      return await importAll(importing, archive);
    } finally {
      await archive.close();
    }
  }).catch(async (error: unknown) => {
    // Layers that it had unpacked.
    await withStoreLock(lock, new AbortController().signal, () => collect(deps, paths)).catch(
      () => undefined,
    );
    throw asDiskFull(error);
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
  if (images.length > 1 && images.some((image) => image.names.length === 0)) throw unnamed();
  if (name !== undefined && images.length > 1)
    throw new ServiceError('bad_request', 'The archive has several images, so one name does not suffice.', {
      remedy: 'Import it without a name.',
    });
  const all = images.map((image) => ({ image, names: namesFor(image, name) }));
  const names = all.flatMap((each) => each.names);
  if (importing.keepsPrivate) await refuseReserved(importing.paths, names);
  // Names come last, so that an archive is imported completely or not at all.
  const layers: string[][] = [];
  for (const { image } of all) layers.push(await putLayers(importing, image));
  importing.signal.throwIfAborted();
  for (const [at, { image, names: own }] of all.entries())
    await putImage(importing, image, layers[at] as string[], { names: own, source: kind });
  return names;
}

function namesFor({ names }: ArchivedImage, name: string | undefined): string[] {
  const wanted = name === undefined ? names : [name];
  if (wanted.length > 0) return wanted.map(completeImageName);
  throw new ServiceError('bad_request', 'The archive does not name its image.', {
    remedy: 'Give a name with --name.',
  });
}

function unnamed(): ServiceError {
  return new ServiceError('bad_request', 'The archive has several images, and does not name all of them.', {
    remedy: 'Copy one to an archive of its own: skopeo copy oci:FOLDER:TAG oci-archive:one.tar',
  });
}

/** Their diff_ids. */
async function putLayers(importing: Importing, image: ArchivedImage): Promise<string[]> {
  const layers: string[] = [];
  const putting = { ...importing, left: { ...importing.deps.limits } };
  for (const [at, layer] of image.layers.entries()) {
    const known = image.diffIds?.[at];
    const progress = { layer: at + 1, layers: image.layers.length };
    layers.push(await putLayer(putting, layer, known, progress));
  }
  return layers;
}

/** The archive as a plain tar that can seek, or the folder. */
async function plainArchive(importing: Importing): Promise<string> {
  const { request, folder, deps } = importing;
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
  const plain = await decompressed(deps.host, packed);
  const watched = deps.room ? watchRoom(importing.paths, deps.room, plain) : plain;
  await pipeline(watched, bounded, createWriteStream(path, { mode: 0o600 }), { signal }).catch(
    (error: unknown) => {
      throw `${(error as { code?: unknown }).code}`.startsWith('Z_')
        ? invalid('The archive is damaged.', error)
        : error;
    },
  );
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
