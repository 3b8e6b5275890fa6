// Which file a guest's root is, for the image asked for.
import { ServiceError } from '../../domain/errors.ts';
import type { MicrovmConfig } from '../../schema/config.ts';

export interface ChosenImage {
  /** What really runs. */
  name: string;
  /** An ext4 file. */
  path: string;
  warnings: string[];
}

type ImageConfig = Pick<MicrovmConfig, 'images'>;

/**
 * The first configured one for a name that is none of them, and a warning: there is no registry to get it from. Throws
 * `unavailable` when there is none at all.
 */
export function chooseImage({ images }: ImageConfig, asked: string | undefined): ChosenImage {
  const known = asked !== undefined && Object.hasOwn(images, asked) ? asked : undefined;
  const name = known ?? Object.keys(images)[0];
  const path = name === undefined ? undefined : images[name];
  if (name === undefined || path === undefined)
    throw new ServiceError('unavailable', 'There is no image for virtual machines.', {
      remedy: 'Name one in providers.microvm.images.',
    });
  const isOther = asked !== undefined && asked !== name;
  const words = `Image ${asked} is none of the images for virtual machines: the sandbox runs on ${name}.`;
  return { name, path, warnings: isOther ? [words] : [] };
}

export function imageNames({ images }: ImageConfig): string[] {
  return Object.keys(images);
}
