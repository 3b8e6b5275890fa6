// `svc image list` and `remove`.
import { readdir, readlink } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import {
  findImage,
  type GuestImage,
  type ImageFolders,
  listImages,
  noImage,
  removeImage,
} from '../../providers/microvm/images.ts';
import type { ImageItem } from '../../schema/image-report.ts';

export async function imageItems(places: ImageFolders): Promise<ImageItem[]> {
  return (await listImages(places)).map(itemOf);
}

/** Throws `not_found`, and `conflict` when the configuration names it or guests run on it. */
export async function dropImage(places: ImageFolders, name: string, users = usersOf): Promise<ImageItem> {
  if (Object.hasOwn(places.configured, name)) throw configured(name);
  const image = await findImage(places, name);
  if (!image) throw noImage(name);
  const { length } = await users(image.path);
  if (length > 0) throw inUse(name, length);
  await removeImage(places.dataFolder, name);
  return itemOf(image);
}

function itemOf({ name, size_bytes, record }: GuestImage): ImageItem {
  if (!record) return { name, size_bytes, source: 'configured' };
  const { digest, created_at, source } = record;
  return { name, size_bytes, digest, created_at, source };
}

function configured(name: string): ServiceError {
  return new ServiceError('conflict', `The image ${name} is a file from the configuration.`, {
    remedy: 'Remove it from providers.microvm.images.',
  });
}

function inUse(name: string, count: number): ServiceError {
  const guests = count === 1 ? 'a guest runs' : `${count} guests run`;
  return new ServiceError('conflict', `The image ${name} cannot be removed because ${guests} on it.`, {
    remedy: 'Destroy the sandboxes that use it. `svc sandbox list` shows them.',
  });
}

/** Pids of the processes that have the file open, as far as this user may see; root sees all. */
export async function usersOf(path: string, proc = '/proc'): Promise<number[]> {
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
  const users = await Promise.all(
    pids.map(async (pid) => ((await hasOpen(`${proc}/${pid}/fd`, path)) ? [pid] : [])),
  );
  return users.flat().map(Number);
}

async function hasOpen(folder: string, path: string): Promise<boolean> {
  const fds = await readdir(folder).catch(() => []);
  const targets = await Promise.all(fds.map((fd) => readlink(`${folder}/${fd}`).catch(() => '')));
  return targets.includes(path);
}
