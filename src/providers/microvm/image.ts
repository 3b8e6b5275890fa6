// Chooses the file of a guest's root for the requested image.
import { ServiceError } from '../../domain/errors.ts';
import { findImage, type GuestImage, type ImageFolders, listImages } from './images.ts';

export interface ChosenImage {
  image: GuestImage;
  warnings: string[];
}

/**
 * An unknown name gets the first image and a warning: there is no registry to pull from. Configured images come first. Throws
 * `unavailable` when there are no images.
 */
export async function chooseImage(
  folders: ImageFolders,
  requested: string | undefined,
): Promise<ChosenImage> {
  const named = requested === undefined ? undefined : await findImage(folders, requested);
  if (named) return { image: named, warnings: [] };
  const image = await firstImage(folders);
  const words = `Image ${requested} is not an image for virtual machines: the sandbox runs on ${image.name}.`;
  return { image, warnings: requested === undefined ? [] : [words] };
}

async function firstImage(folders: ImageFolders): Promise<GuestImage> {
  const all = await listImages(folders);
  const configured = Object.keys(folders.configured);
  const image = all.find(({ name }) => name === configured[0]) ?? all[0];
  if (image) return image;
  throw new ServiceError('unavailable', 'No image for virtual machines found.', {
    remedy: 'Build one with svc image build, or name a file in providers.microvm.images.',
  });
}

/** Names of those that can be run. Throws `unavailable` when a configured file is not there, or there is no image. */
export async function imageNames(folders: ImageFolders): Promise<string[]> {
  await firstImage(folders);
  const names = (await listImages(folders)).map(({ name }) => name);
  const missing = Object.keys(folders.configured).find((name) => !names.includes(name));
  if (missing === undefined) return names;
  throw new ServiceError('unavailable', `The file of image ${missing} does not exist.`, {
    remedy: 'Correct providers.microvm.images.',
  });
}
