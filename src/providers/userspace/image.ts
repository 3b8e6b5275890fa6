// Chooses the root for the requested image: the host view, a folder of the configuration, or a tree of the image store.
import { basename } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { isImageName } from '../../domain/image-name.ts';
import type { ImageWish } from '../../domain/image-policy.ts';
import { OWN_PLATFORM } from '../../images/archive-images.ts';
import type { FoundImage } from '../../images/found-images.ts';
import { foreignImage, missingImage } from '../../images/image-faults.ts';
import { findFor, storedNames } from '../../images/image-store.ts';
import type { ImageState as State } from '../../schema/admission.ts';
import type { UserspaceConfig } from '../../schema/config.ts';
import type { ImageSpec } from '../provider.ts';
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

type StoreState = Pick<UserspaceState, 'imageStore' | 'slowly' | 'clock'>;

type ImageState = StoreState & Pick<UserspaceState, 'config' | 'host'>;

/**
 * An image that cannot be had here gets the default root and a warning under the policy `optional`. Throws `not_found` for it under
 * another policy, and for an image of the store that is made for another processor.
 */
export async function chooseImage(
  state: ImageState,
  { image: requested, image_policy: policy = 'optional', private_images }: Omit<ImageSpec, 'account'>,
): Promise<ChosenImage> {
  const { config } = state;
  const standard = defaultImage(config);
  const own = ownImage(config, requested);
  if (own) return own;
  const name = requested as string;
  const isRequired = policy !== 'optional';
  const stored = await storedHere(state, { image: name, private_images });
  if (!stored && isRequired) throw missingImage(name);
  if (!stored) return instead(standard, `Image ${name} is not on this machine`);
  if (stored.image.platform !== OWN_PLATFORM) throw foreignImage(name, stored.image.platform);
  if (protectsNothing(state)) {
    if (isRequired) throw unprotected(name);
    return instead(standard, `proot cannot protect image ${name} from changes`);
  }
  return { name, rootfs: stored.tree, stored, warnings: [] };
}

/** The store may lie on a mount that hangs. */
const storedHere = (
  { imageStore, slowly, clock }: StoreState,
  wish: Pick<ImageWish, 'image' | 'private_images'>,
) => slowly(() => findFor(imageStore.path, wish, clock.now()));

/** The default root, or a folder of the configuration; undefined for the name of a stored image. */
function ownImage(config: ImageConfig, requested: string | undefined): ChosenImage | undefined {
  const standard = defaultImage(config);
  if (requested === undefined || requested === standard.name) return standard;
  if (!Object.hasOwn(config.images, requested)) return undefined;
  return { name: requested, rootfs: config.images[requested], warnings: [] };
}

/** A tracer lets a sandbox of the same user write wherever that user can. */
const protectsNothing = ({ config, host }: Pick<ImageState, 'config' | 'host'>) =>
  config.runner === 'proot' && host.uid !== 0;

type PullingState = ImageState & Pick<UserspaceState, 'pulls'>;

/** Pulls the image where the policy says so; see the seam. A name that only folders and other providers can have is not pulled. */
export async function readyImage(
  state: PullingState,
  spec: ImageSpec,
  signal: AbortSignal,
): Promise<string[]> {
  const wish = pullable(state, spec);
  return wish && state.pulls ? state.pulls.ready(wish, isStored(state, wish), signal) : [];
}

export async function imageState(state: PullingState, spec: ImageSpec): Promise<State | undefined> {
  if (ownImage(state.config, spec.image)) return 'present';
  const wish = pullable(state, spec);
  const known = wish && state.pulls ? await state.pulls.state(wish, isStored(state, wish)) : 'refused';
  const isOptional = (spec.image_policy ?? 'optional') === 'optional';
  return known === 'refused' && isOptional ? undefined : known;
}

const isStored = (state: StoreState, wish: ImageWish) => async () =>
  (await storedHere(state, wish)) !== undefined;

function pullable(
  state: Pick<ImageState, 'config' | 'host'>,
  { image, image_policy, account, private_images }: ImageSpec,
): ImageWish | undefined {
  if (image === undefined || ownImage(state.config, image) || protectsNothing(state)) return undefined;
  const policy = image_policy ?? 'optional';
  return isImageName(image) ? { image, policy, account, private_images } : undefined;
}

const instead = (standard: ChosenImage, reason: string): ChosenImage => ({
  ...standard,
  warnings: [`${reason}: the sandbox runs on ${standard.name}.`],
});

function unprotected(name: string): ServiceError {
  return new ServiceError('not_implemented', `proot cannot protect image ${name} from changes here.`, {
    remedy: 'Set providers.userspace.runner to auto, or run the server as root.',
    details: { reason: 'no_image', image: name },
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
