// Chooses the root for the requested image: the host view, a folder of the configuration, or a tree of the image store.
import { basename } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { OWN_PLATFORM } from '../../images/archive-images.ts';
import { type FoundImage, findStored, storedNames } from '../../images/image-store.ts';
import type { UserspaceConfig } from '../../schema/config.ts';
import type { UserspaceState } from './state.ts';

export interface ChosenImage {
  /** The effective image: `host`, or the name of an image. */
  name: string;
  /** Folder; undefined is the host view. */
  rootfs: string | undefined;
  /** Set when `rootfs` is a tree of the store. */
  stored?: FoundImage;
  warnings: string[];
}

type ImageConfig = Pick<UserspaceConfig, 'images' | 'rootfs_path'>;

/**
 * An image that is not on this machine gets the default root and a warning. Throws `not_found` for an image of the store that is
 * made for another processor.
 */
export async function chooseImage(
  state: Pick<UserspaceState, 'config' | 'imageStore' | 'slowly' | 'clock' | 'host'>,
  requested: string | undefined,
): Promise<ChosenImage> {
  const { config, imageStore, clock } = state;
  const standard = defaultImage(config);
  if (requested === undefined || requested === standard.name) return standard;
  if (Object.hasOwn(config.images, requested))
    return { name: requested, rootfs: config.images[requested], warnings: [] };
  const stored = await state.slowly(() => findStored(imageStore.path, requested, clock.now()));
  if (!stored) return instead(standard, `Image ${requested} is not on this machine`);
  if (stored.image.platform !== OWN_PLATFORM) throw foreign(requested, stored.image.platform);
  // A tracer lets a sandbox of the same user write wherever that user can.
  if (config.runner === 'proot' && state.host.uid !== 0)
    return instead(standard, `proot cannot protect image ${requested} from changes`);
  return { name: requested, rootfs: stored.tree, stored, warnings: [] };
}

const instead = (standard: ChosenImage, reason: string): ChosenImage => ({
  ...standard,
  warnings: [`${reason}: the sandbox runs on ${standard.name}.`],
});

function foreign(name: string, platform: string): ServiceError {
  return new ServiceError('not_found', `Image ${name} is for ${platform}, which this machine cannot run.`, {
    remedy: `Import the image for ${OWN_PLATFORM}.`,
  });
}

/** Images that a spawn which names none may get. */
export function imageNames(config: ImageConfig): string[] {
  return [...new Set([defaultImage(config).name, ...Object.keys(config.images)])];
}

/** All images that a spawn may name. */
export async function presentImages({ config, imageStore, slowly }: UserspaceState): Promise<string[]> {
  return [...imageNames(config), ...(await slowly(() => storedNames(imageStore.path)))];
}

function defaultImage({ rootfs_path }: ImageConfig): ChosenImage {
  return rootfs_path
    ? { name: basename(rootfs_path), rootfs: rootfs_path, warnings: [] }
    : { name: 'host', rootfs: undefined, warnings: [] };
}
