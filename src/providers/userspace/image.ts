// Chooses the root for the requested image.
import { basename } from 'node:path';
import type { UserspaceConfig } from '../../schema/config.ts';

export interface ChosenImage {
  /** The effective image: `host`, or the name of an image. */
  name: string;
  /** Folder; undefined is the host view. */
  rootfs: string | undefined;
  warnings: string[];
}

type ImageConfig = Pick<UserspaceConfig, 'images' | 'rootfs_path'>;

/** An unknown name gets the default root and a warning: there is no registry to pull from. */
export function chooseImage(config: ImageConfig, requested: string | undefined): ChosenImage {
  const standard = defaultImage(config);
  if (requested === undefined || requested === standard.name) return standard;
  if (Object.hasOwn(config.images, requested))
    return { name: requested, rootfs: config.images[requested], warnings: [] };
  return {
    ...standard,
    warnings: [`Image ${requested} is not configured for userspace: the sandbox runs on ${standard.name}.`],
  };
}

export function imageNames(config: ImageConfig): string[] {
  return [...new Set([defaultImage(config).name, ...Object.keys(config.images)])];
}

function defaultImage({ rootfs_path }: ImageConfig): ChosenImage {
  return rootfs_path
    ? { name: basename(rootfs_path), rootfs: rootfs_path, warnings: [] }
    : { name: 'host', rootfs: undefined, warnings: [] };
}
