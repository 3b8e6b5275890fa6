// Where the image store has what. Everything below belongs to one user that is never root.
import { createHash } from 'node:crypto';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../domain/errors.ts';
import { makeFolders } from '../host/make-folders.ts';

/** Owner of all images of a server of root: one below the uids of its sandboxes (providers/local/uid-slots.ts). */
export const STORE_UID = 1_879_048_191;
/** The longest name of a file without its ending, and the part that a longer one keeps. */
const LONGEST_FILE = 240;
const LONGEST_PART = 150;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

export interface StorePaths {
  root: string;
  /** A process locks this file while it changes names, images, trees or layers. */
  lock: string;
  tmp: string;
  layers: string;
  trees: string;
  images: string;
  names: string;
  /** Layers while they are fetched. */
  blobs: string;
  /** File systems of virtual machines. Only the server can read them: they have the modes and owners of images. */
  disks: string;
}

export function storePaths(root: string): StorePaths {
  const at = (name: string) => join(root, name);
  return {
    root,
    lock: at('lock'),
    tmp: at('tmp'),
    layers: at('layers'),
    trees: at('trees'),
    images: at('images'),
    names: at('names'),
    blobs: at('blobs'),
    disks: at('disks'),
  };
}

/** Makes the folders of a store. Idempotent. */
export async function makeStore({
  root,
  tmp,
  layers,
  trees,
  images,
  names,
  blobs,
  disks,
}: StorePaths): Promise<void> {
  await makeFolders(root, 0o711);
  await chmod(root, 0o711);
  for (const folder of [tmp, layers, trees, images, names, blobs]) await makeFolders(folder, 0o711);
  await makeFolders(disks, 0o700);
}

/** Makes a folder that the unpacker writes to. */
export async function makeOwned(path: string): Promise<void> {
  await mkdir(path, { mode: 0o755 });
  if (process.getuid?.() === 0) await chown(path, STORE_UID, STORE_UID);
}

export const isDigest = (text: unknown): text is string => typeof text === 'string' && DIGEST.test(text);

/** The hex part, which is a file's name. Throws `provider_error` for anything but a digest by SHA-256. */
export function hexOf(digest: string): string {
  if (isDigest(digest)) return digest.slice('sha256:'.length);
  throw new ServiceError('provider_error', 'The image uses a digest that is not SHA-256.', {
    remedy: 'Create the image again with SHA-256 digests.',
  });
}

export const digestOf = (bytes: Buffer | string) =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Identifies layers on top of each other, the lowest first. OCI image specification, "Layer ChainID" */
export function chainId(diffIds: readonly string[]): string {
  return diffIds.reduce((below, diffId) => (below === '' ? diffId : digestOf(`${below} ${diffId}`)), '');
}

export const layerFolder = ({ layers }: StorePaths, diffId: string) => join(layers, hexOf(diffId));
export const treeFolder = ({ trees }: StorePaths, chain: string) => join(trees, hexOf(chain));
/** The version in the name changes with how disks are made. */
export const diskFile = ({ disks }: StorePaths, chain: string) => join(disks, `${hexOf(chain)}.v1.ext4`);
export const imageFile = ({ images }: StorePaths, digest: string) => join(images, `${hexOf(digest)}.json`);
/** A long name is cut and followed by its hash, because a file's name has at most 255 bytes. No name has the mark between them. */
export function nameFile({ names }: StorePaths, name: string): string {
  const encoded = encodeURIComponent(name);
  const file =
    encoded.length <= LONGEST_FILE ? encoded : `${encoded.slice(0, LONGEST_PART)}~${hexOf(digestOf(name))}`;
  return join(names, `${file}.json`);
}
