// Keeps the image store within images.max_store_bytes, and images.keep_free_bytes of its file system free.
import { statfs } from 'node:fs/promises';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../domain/errors.ts';
import type { RoomLimits } from './image-store.ts';
import type { StorePaths } from './store-paths.ts';
import { NO_ROOM } from './store-records.ts';
import { keptSizes } from './store-sizes.ts';

/** How much is written between two looks at the file system. */
const LOOK_BYTES = 32 * 1024 * 1024;
/** The part of a file system's inodes that stays free: an archive can have a million small files. */
const FREE_INODES = 0.02;

/** Throws `resource_limit` when the store cannot take `bytes` more. */
export async function requireRoom(
  paths: StorePaths,
  { maxStoreBytes, keepFreeBytes }: RoomLimits,
  bytes: number,
): Promise<void> {
  if (maxStoreBytes > 0 && (await storedBytes(paths)) + bytes > maxStoreBytes)
    throw noRoom(
      `The layers and disks of the image store would take more than the ${maxStoreBytes} bytes of images.max_store_bytes.`,
      'raise images.max_store_bytes',
    );
  const { bavail, bsize, files, ffree } = await statfs(paths.root);
  if (bavail * bsize - bytes < keepFreeBytes)
    throw noRoom(
      keepFreeBytes === 0
        ? 'The disk below images.path has too little room for the image.'
        : `Less than the ${keepFreeBytes} bytes of images.keep_free_bytes would stay free below images.path.`,
      'free disk space below images.path',
    );
  // Some file systems make inodes as they need them, and say that they have none.
  if (keepFreeBytes > 0 && files > 0 && ffree < files * FREE_INODES)
    throw noRoom(
      `Less than ${FREE_INODES * 100} % of the files that the file system of images.path can have would stay free.`,
      'remove files from this file system',
    );
}

/** Passes `source` on, and fails as `requireRoom` does as soon as too little stays free. */
export function watchRoom(paths: StorePaths, { keepFreeBytes }: RoomLimits, source: Readable): Readable {
  let unseen = LOOK_BYTES;
  const watched = new Transform({
    transform(chunk: Buffer, _, done) {
      unseen += chunk.length;
      if (unseen < LOOK_BYTES) return done(null, chunk);
      unseen = 0;
      requireRoom(paths, { maxStoreBytes: 0, keepFreeBytes }, 0).then(() => done(null, chunk), done);
    },
  });
  pipeline(source, watched).catch(() => undefined);
  return watched;
}

async function storedBytes(paths: StorePaths): Promise<number> {
  const { layers, disks } = await keptSizes(paths);
  return layers + disks;
}

function noRoom(message: string, otherwise: string): ServiceError {
  return new ServiceError('resource_limit', message, {
    status: 507,
    details: { reason: NO_ROOM },
    remedy: `Remove unused images with svc image prune, or ${otherwise}.`,
  });
}
