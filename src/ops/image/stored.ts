// `svc image` over the image store: its images as commands show them, and names of both kinds of images.
import { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { noStoredImage } from '../../images/image-faults.ts';
import {
  type PruneRequest,
  pruneStored,
  removeStored,
  type StoreDeps,
  tagStored,
} from '../../images/image-store.ts';
import { importImages } from '../../images/import.ts';
import { storedImage, storedImages } from '../../images/shown-images.ts';
import { verifyStored } from '../../images/verify.ts';
import { findImage, type ImageFolders } from '../../providers/microvm/images.ts';
import type { Image } from '../../schema/image.ts';
import type {
  ImageFreed,
  ImageListItem,
  ImageProvider,
  ImageRemoval,
  ImageVerification,
} from '../../schema/image-report.ts';
import { dropImage, imageItems } from './images.ts';

/** Everything of this machine that has an image's name, sorted. */
export async function allImages(places: ImageFolders, root: string): Promise<ImageListItem[]> {
  const disks = (await imageItems(places)).map((item) => ({ ...item, provider: 'microvm' as const }));
  const images = (await storedImages(root)).map(listItemOf);
  return [...disks, ...images].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function listItemOf(image: Image): ImageListItem {
  const { name, size_bytes, digest, stored_at, source, sandboxes, last_used_at } = image;
  const facts = { digest, created_at: stored_at, source, sandboxes, last_used_at };
  return { name, size_bytes, ...facts, provider: 'userspace' };
}

/** Throws `not_found`, and `bad_request` for what cannot be a name. */
export const inspectHere = (root: string, name: string): Promise<Image> => storedImage(root, name);

export interface ImportOrder {
  /** A file, a folder, `-` for standard input, or the bytes of an archive. */
  source: string | AsyncIterable<Buffer>;
  name?: string | undefined;
  signal: AbortSignal;
  onStage?(stage: string, done?: number, total?: number): void;
}

/** Throws as `importImages` does. */
export async function importHere(store: StoreDeps, order: ImportOrder): Promise<Image[]> {
  const { source, name, signal, onStage } = order;
  onStage?.('read');
  const found = await importImages(store, {
    source: readable(source),
    name,
    signal,
    onLayer: ({ layer, layers, doneBytes, totalBytes }) =>
      onStage?.(`Unpacking layer ${layer} of ${layers}`, doneBytes, totalBytes),
  });
  return Promise.all(found.map(({ name: complete }) => storedImage(store.root, complete)));
}

function readable(source: ImportOrder['source']): string | Readable {
  if (typeof source !== 'string') return Readable.from(source, { objectMode: false });
  return source === '-' ? process.stdin : source;
}

/**
 * Removes the image of `provider`, or of the only provider that has one of this name. Throws `not_found`, and `conflict` while it
 * is used, or when both have one and none is named.
 */
export async function removeEither(
  places: ImageFolders,
  store: StoreDeps,
  { name, provider }: { name: string; provider?: ImageProvider | undefined },
): Promise<ImageListItem & ImageFreed> {
  const stored = provider === 'microvm' ? undefined : await storedFor(store, name, provider);
  if (stored && provider === undefined && (await findImage(places, name))) throw ambiguous(name);
  if (stored) {
    const { freed_bytes } = await removeStored(store, name);
    return { ...listItemOf(stored), freed_bytes };
  }
  // A name that no image has says nothing about the kind of image that was meant.
  if (provider === undefined && !(await findImage(places, name))) throw noStoredImage(name);
  const item = await dropImage(places, name);
  return { ...item, provider: 'microvm', freed_bytes: item.size_bytes };
}

/** Undefined when the store has none and no provider was named: the image may be one of microvm. */
function storedFor(store: StoreDeps, name: string, provider: ImageProvider | undefined) {
  const stored = storedImage(store.root, name);
  return provider === undefined ? stored.catch(() => undefined) : stored;
}

function ambiguous(name: string): ServiceError {
  return new ServiceError('conflict', `Both microvm and userspace have an image named ${name}.`, {
    remedy: 'Choose one with --provider.',
  });
}

/** Throws `not_found` and `bad_request`. */
export async function tagHere(store: StoreDeps, name: string, other: string): Promise<Image> {
  await tagStored(store, name, other);
  return storedImage(store.root, other);
}

export async function pruneHere(store: StoreDeps, request: PruneRequest): Promise<ImageRemoval> {
  const { names, freed_bytes } = await pruneStored(store, request);
  return { removed: names, freed_bytes };
}

export interface VerifyOrder {
  /** All images of the store without. */
  name?: string | undefined;
  signal: AbortSignal;
  onStage?(stage: string, done?: number, total?: number): void;
}

/** Throws as `verifyStored` does. */
export async function verifyHere(store: StoreDeps, order: VerifyOrder): Promise<ImageVerification> {
  const { name, signal, onStage } = order;
  const onImage = (image: string, at: number, count: number) =>
    onStage?.(`Comparing ${image} (${at} of ${count})`);
  const images = await verifyStored(store, { name, signal, onImage });
  return { ok: images.every(({ differences }) => differences.length === 0), images };
}
