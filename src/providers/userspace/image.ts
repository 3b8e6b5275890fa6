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
export function chooseImage(config: ImageConfig, asked: string | undefined): ChosenImage {
  const standard = defaultImage(config);
  if (asked === undefined || asked === standard.name) return standard;
  if (Object.hasOwn(config.images, asked)) return { name: asked, rootfs: config.images[asked], warnings: [] };
  return {
    ...standard,
    warnings: [`Image ${asked} is not configured for userspace: the sandbox runs on ${standard.name}.`],
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
