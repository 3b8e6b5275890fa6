// Which file a guest's root is, for the image asked for.
import { ServiceError } from '../../domain/errors.ts';
import { findImage, type GuestImage, type ImagePlaces, listImages } from './images.ts';

export interface ChosenImage {
  image: GuestImage;
  warnings: string[];
}

/**
 * The first one for a name that is none of them, and a warning: there is no registry to get it from. Those of the
 * configuration go first. Throws `unavailable` when there is none at all.
 */
export async function chooseImage(places: ImagePlaces, asked: string | undefined): Promise<ChosenImage> {
  const named = asked === undefined ? undefined : await findImage(places, asked);
  if (named) return { image: named, warnings: [] };
  const image = await firstImage(places);
  const words = `Image ${asked} is none of the images for virtual machines: the sandbox runs on ${image.name}.`;
  return { image, warnings: asked === undefined ? [] : [words] };
}

async function firstImage(places: ImagePlaces): Promise<GuestImage> {
  const all = await listImages(places);
  const configured = Object.keys(places.configured);
  const image = all.find(({ name }) => name === configured[0]) ?? all[0];
  if (image) return image;
  throw new ServiceError('unavailable', 'There is no image for virtual machines.', {
    remedy: 'Make one with svc image build, or name a file in providers.microvm.images.',
  });
}

/** Names of those that can be run. Throws `unavailable` when a configured file is not there, or there is no image. */
export async function imageNames(places: ImagePlaces): Promise<string[]> {
  await firstImage(places);
  const names = (await listImages(places)).map(({ name }) => name);
  const missing = Object.keys(places.configured).find((name) => !names.includes(name));
  if (missing === undefined) return names;
  throw new ServiceError('unavailable', `The file of image ${missing} is not there.`, {
    remedy: 'Mend providers.microvm.images.',
  });
}
