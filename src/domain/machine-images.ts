// The image store of one machine, as calls use it: of this server, or of a worker.
import type { Readable } from 'node:stream';
import type { Image, ImageSummary } from '../schema/image.ts';
import type { ImageProgress, PulledImage } from '../schema/image-calls.ts';
import { ServiceError } from './errors.ts';
import { completeImageName, shortImageName } from './image-name.ts';

/**
 * For whom a pull is. `all`: an administrator's, with the credentials of this machine; its image is for everybody. `trusted`:
 * with the credentials; what comes from a registry that they are for is private. `anyone`: without credentials, and without images that
 * others pulled with them.
 */
export const PULLED_FOR = ['all', 'trusted', 'anyone'] as const;
export type PulledFor = (typeof PULLED_FOR)[number];

export interface ImageListOrder {
  limit: number;
  /** As `nameFilter` reads it. */
  name?: string | undefined;
  /** Only references after this one, or also it. */
  after?: string | undefined;
  inclusive?: boolean | undefined;
  /** Also those that were pulled with credentials. */
  private_images: boolean;
}

export interface ImagePullOrder {
  image: string;
  pull: 'missing' | 'always';
  platform?: string | undefined;
  for: PulledFor;
  /** Pulls of one account are bounded together; undefined is not bounded. */
  account?: string | undefined;
}

export interface ImageImportOrder {
  /** Instead of the names in the archive. */
  name?: string | undefined;
  /** Whether it may rely on layers that were pulled with credentials, and replace names of such images. */
  private_images: boolean;
}

/** The images that exist for a caller: without `private_images`, not those that were pulled with credentials. */
export interface ImageView {
  private_images: boolean;
}

export interface ImagePruneOrder extends ImageView {
  /** In ms; 0: all that no sandbox uses. */
  unusedForMs: number;
  dryRun: boolean;
}

export interface ImageWatch {
  signal: AbortSignal;
  onProgress?: ((event: ImageProgress) => void) | undefined;
}

export interface RemovedImage {
  /** Short. */
  name: string;
  digest: string;
  freed_bytes: number;
}

export interface PrunedImages {
  removed: string[];
  freed_bytes: number;
}

/**
 * All methods throw `bad_request` for what cannot be a name, `not_found` for an image that is not there or not for the caller,
 * `unavailable`, and the reason of the signal.
 */
export interface MachineImages {
  /** Sorted by reference, at most `limit`. */
  list(order: ImageListOrder, signal: AbortSignal): Promise<ImageSummary[]>;
  /** Finds the image by its name or digest. */
  get(name: string, view: ImageView, signal: AbortSignal): Promise<Image>;
  /** The pull continues when `signal` aborts. Throws as a pull of a spawn does. */
  pull(order: ImagePullOrder, watch: ImageWatch): Promise<PulledImage>;
  /** Nothing is left of an import that fails, or whose signal aborts. Throws `forbidden` for the name of another's private image. */
  import(archive: Readable, order: ImageImportOrder, watch: ImageWatch): Promise<Image[]>;
  tag(name: string, other: string, view: ImageView, signal: AbortSignal): Promise<Image>;
  /** Throws `conflict` while a sandbox runs on it. */
  remove(name: string, view: ImageView, signal: AbortSignal): Promise<RemovedImage>;
  prune(order: ImagePruneOrder, signal: AbortSignal): Promise<PrunedImages>;
}

/** What the image store of a machine holds. */
export interface ImageSizes {
  /** Names of images. */
  images: number;
  /** Bytes of unpacked layers. */
  layers: number;
  /** Bytes of disks for virtual machines. */
  disks: number;
  /** Bytes of layers that are being fetched, and that interrupted pulls left. */
  partial: number;
}

/** The image store of this machine. */
export interface OwnImages extends MachineImages {
  sizes(): Promise<ImageSizes>;
}

/** Whether a complete name is wanted: all, one, or with `*` at the end those that start so, short or complete. Throws `bad_request`. */
export function nameFilter(text: string | undefined): (reference: string) => boolean {
  if (text === undefined) return () => true;
  if (!text.endsWith('*')) {
    const wanted = completeImageName(text);
    return (reference) => reference === wanted;
  }
  const start = text.slice(0, -1);
  return (reference) => reference.startsWith(start) || shortImageName(reference).startsWith(start);
}

/** The error for the name of a private image that the caller may not see. */
export function reservedName(): ServiceError {
  return new ServiceError('forbidden', 'This image name is reserved.', {
    remedy: 'Choose another name, or ask an administrator.',
  });
}
