// Images of the store as commands and calls show them.
import { completeImageName, shortImageName } from '../domain/image-name.ts';
import type { Image, ImageSummary } from '../schema/image.ts';
import { OWN_PLATFORM } from './archive-images.ts';
import { noStoredImage } from './image-faults.ts';
import { type ListedImage, listStored } from './image-store.ts';
import { isDigest } from './store-paths.ts';
import type { StoredName } from './store-records.ts';

/** All images of the store, sorted by name. */
export async function storedImages(root: string): Promise<Image[]> {
  return (await listStored(root)).map(imageOf);
}

/** Finds an image by its name or digest. Throws `not_found`, and `bad_request` for what cannot be a name. */
export async function storedImage(
  root: string,
  name: string,
  isVisible: (name: StoredName) => boolean = () => true,
): Promise<Image> {
  const complete = completeImageName(name);
  const leadsTo = (stored: StoredName) =>
    isDigest(name) ? stored.digest === name : stored.name === complete;
  const [found] = await listStored(root, (stored) => leadsTo(stored) && isVisible(stored), 1);
  if (!found) throw noStoredImage(name);
  return imageOf(found);
}

export function imageOf(listed: ListedImage): Image {
  const { layers, config, warnings } = listed.image;
  return { ...summaryOf(listed), layers, config, warnings };
}

export function summaryOf({
  name,
  source,
  image,
  shared_bytes,
  sandboxes,
  last_used_at,
  imported_at,
  disk_bytes,
  access,
}: ListedImage): ImageSummary {
  const { digest, config_digest, platform, size_bytes, files } = image;
  return {
    name: shortImageName(name),
    reference: name,
    digest,
    config_digest,
    platform,
    runnable: platform === OWN_PLATFORM,
    size_bytes,
    shared_bytes,
    files,
    source,
    stored_at: imported_at,
    last_used_at,
    sandboxes,
    ...(disk_bytes !== undefined && { disk_bytes }),
    ...(access === 'private' && { private: true }),
  };
}
