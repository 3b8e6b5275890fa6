// Chooses the disk for the requested image: a file of the configuration, one that `svc image build` made, or the disk of an image
// of the store.
import { stat } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import { isImageName } from '../../domain/image-name.ts';
import type { ImageWish } from '../../domain/image-policy.ts';
import { OWN_PLATFORM } from '../../images/archive-images.ts';
import type { FoundImage } from '../../images/found-images.ts';
import { foreignImage, missingImage } from '../../images/image-faults.ts';
import { findFor, storedNames } from '../../images/image-store.ts';
import { diskFile, storePaths } from '../../images/store-paths.ts';
import { exists } from '../../images/store-records.ts';
import type { ImageState } from '../../schema/admission.ts';
import type { ImageSpec } from '../provider.ts';
import { findImage, firstImage } from './images.ts';
import type { MicrovmState } from './state.ts';

export interface ChosenImage {
  name: string;
  path: string;
  /** Set when `path` is a disk of the store. */
  stored?: FoundImage;
  warnings: string[];
}

type State = Pick<MicrovmState, 'images' | 'imageStore' | 'pulls' | 'disks' | 'clock' | 'slowly'>;

/**
 * An image that cannot be had here gets the first of the configured and built images and a warning under the policy `optional`.
 * Throws `not_found` for it under another policy and for an image of another processor, and `unavailable` when there is none.
 */
export async function chooseImage(state: State, spec: ImageSpec): Promise<ChosenImage> {
  const { image: name, image_policy: policy = 'optional', private_images } = spec;
  const own = name === undefined ? await firstImage(state.images) : await findImage(state.images, name);
  if (own) return { name: own.name, path: own.path, warnings: [] };
  const wanted = name as string;
  const { path, found } = await state.slowly(() => storedDisk(state, { image: wanted, private_images }));
  if (found && found.image.platform !== OWN_PLATFORM) throw foreignImage(wanted, found.image.platform);
  if (found && path === undefined) throw noDisk(wanted);
  if (found && path !== undefined) return { name: wanted, path, stored: found, warnings: [] };
  if (policy !== 'optional') throw missingImage(wanted);
  const first = await firstImage(state.images);
  const words = `Image ${wanted} is not on this machine: the sandbox runs on ${first.name}.`;
  return { name: first.name, path: first.path, warnings: [words] };
}

async function storedDisk(
  { imageStore: { path: root }, clock }: State,
  wish: Pick<ImageWish, 'image' | 'private_images'>,
) {
  const found = await findFor(root, wish, clock.now());
  const path = found && diskFile(storePaths(root), found.image.chain_id);
  return { found, path: path !== undefined && (await exists(path)) ? path : undefined };
}

/** Pulls the image where the policy says so, and makes its disk; see the seam. */
export async function readyImage(state: State, spec: ImageSpec, signal: AbortSignal): Promise<string[]> {
  const wish = await wishFor(state, spec);
  if (!wish) return [];
  const notes = (await state.pulls?.ready(wish, isStored(state, wish), signal)) ?? [];
  const { found, path } = await state.slowly(() => storedDisk(state, wish));
  if (!found || path !== undefined || found.image.platform !== OWN_PLATFORM) return notes;
  return [...notes, ...((await state.disks?.ready(found, signal)) ?? [])];
}

/** See the seam: the digest of an image of the store, else the file and its time. */
export async function imageId(state: State, spec: ImageSpec): Promise<string | undefined> {
  try {
    const { path, stored } = await chooseImage(state, spec);
    return stored?.image.digest ?? `${path} ${(await stat(path)).mtimeMs}`;
  } catch {
    return undefined;
  }
}

export async function imageState(state: State, spec: ImageSpec): Promise<ImageState | undefined> {
  const { image, image_policy: policy = 'optional' } = spec;
  if (image === undefined || (await findImage(state.images, image))) return 'present';
  const wish = await wishFor(state, spec);
  const known = wish && state.pulls ? await state.pulls.state(wish, isStored(state, wish)) : 'refused';
  return known === 'refused' && policy === 'optional' ? undefined : known;
}

const isStored = (state: State, wish: ImageWish) => async () =>
  (await state.slowly(() => storedDisk(state, wish))).found !== undefined;

/** Undefined for an image that is not one of the store. */
async function wishFor({ images }: State, spec: ImageSpec): Promise<ImageWish | undefined> {
  const { image, image_policy: policy = 'optional', account, private_images } = spec;
  if (image === undefined || !isImageName(image)) return undefined;
  return (await findImage(images, image)) ? undefined : { image, policy, account, private_images };
}

/** All images that a spawn may name. */
export async function presentImages(state: State & Pick<MicrovmState, 'knownImages'>): Promise<string[]> {
  const stored = await state.slowly(() => storedNames(state.imageStore.path));
  return [...new Set([...state.knownImages(), ...stored])];
}

function noDisk(name: string): ServiceError {
  return new ServiceError('unavailable', `The disk of image ${name} was removed meanwhile.`, {
    remedy: 'Spawn again.',
  });
}
