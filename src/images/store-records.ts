// The small files of the store: what is known of an image, and which names lead to it.
import { readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ServiceError } from '../domain/errors.ts';
import type { ImageConfig } from './documents.ts';
import { imageFile, isDigest, layerFolder, nameFile, type StorePaths } from './store-paths.ts';

/** Why the store takes nothing more, in the details of an error: then unused images are removed where that is possible. */
export const NO_ROOM = 'image_store_full';
const HOUR_MS = 3_600_000;
const ENDING = '.json';

export interface StoredImage {
  digest: string;
  config_digest: string;
  platform: string;
  /** diff_ids, the lowest first. */
  layers: string[];
  chain_id: string;
  config: ImageConfig;
  /** Unpacked. */
  size_bytes: number;
  files: number;
  warnings: string[];
}

export interface StoredName {
  /** Complete: registry, path and tag. */
  name: string;
  digest: string;
  /** `registry`, or the kind of archive that it came from. */
  source: string;
  imported_at: string;
  /** What the tag led to at its registry: the index where there is one. */
  resolved?: string;
  /**
   * Who may start on it. `private`: starts that may use credentials, with which it was pulled. `shared`: all, because an
   * administrator pulled it, and later images of this name. Absent: all, because no credentials were used.
   */
  access?: 'private' | 'shared';
}

/** Replaces the file in one step, on the disk. */
export async function writeRecord(path: string, record: unknown): Promise<void> {
  const fresh = `${path}.new`;
  await writeFile(fresh, `${JSON.stringify(record)}\n`, { mode: 0o644, flush: true });
  await rename(fresh, path);
}

async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ServiceError('provider_error', 'The image store cannot be read.', {
      cause: error,
      remedy: 'Check images.path: the folder must be readable by this user.',
    });
  }
}

export async function readImage(paths: StorePaths, digest: string): Promise<StoredImage | undefined> {
  const image = await readJson<StoredImage>(imageFile(paths, digest));
  return image && isDigest(image.chain_id) ? image : undefined;
}

export async function readName(paths: StorePaths, name: string): Promise<StoredName | undefined> {
  const stored = await readJson<StoredName>(nameFile(paths, name));
  return stored && isDigest(stored.digest) ? stored : undefined;
}

export interface LayerFacts {
  bytes: number;
  files: number;
  devices: number;
  entries: number;
  unpacked_at?: string;
  /** It was pulled with credentials: pulls and imports that have none must bring its bytes themselves. */
  private?: boolean;
}

export async function readLayer(paths: StorePaths, diffId: string): Promise<LayerFacts | undefined> {
  const text = await readFile(join(layerFolder(paths, diffId), 'layer.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as LayerFacts);
}

/** Sorted by name. */
export async function readNames(paths: StorePaths): Promise<StoredName[]> {
  const files = (await entriesOf(paths.names)).filter((file) => file.endsWith(ENDING));
  const names = await Promise.all(files.map((file) => readJson<StoredName>(join(paths.names, file))));
  return names
    .filter((name): name is StoredName => isDigest(name?.digest))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Each is a file that lists and prunes read; one digest may get any number of names. */
const MOST_NAMES = 10_000;

/** Throws `resource_limit` when the store has too many names for these. Call it with the store's lock. */
export async function requireNames(paths: StorePaths, names: readonly string[]): Promise<void> {
  const there = (await entriesOf(paths.names)).filter((file) => file.endsWith(ENDING));
  const known = new Set(there);
  const fresh = names.filter((name) => !known.has(basename(nameFile(paths, name))));
  if (fresh.length > 0 && there.length + fresh.length > MOST_NAMES)
    throw new ServiceError('resource_limit', `The image store has ${there.length} names of images.`, {
      status: 507,
      details: { reason: NO_ROOM },
      remedy: `It can have ${MOST_NAMES}. Remove unused images with svc image prune.`,
    });
}

/** Names in a folder; none when it does not exist. */
export async function entriesOf(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}

/** The time of a name's file, which is `last`, is the last use, to the hour. Never throws: a store may be read-only. */
export async function noteUse(path: string, last: number, now: number): Promise<void> {
  if (now - last > HOUR_MS) await utimes(path, now / 1000, now / 1000).catch(() => undefined);
}

/** Ms since 1970. */
export async function lastUse(paths: StorePaths, name: string): Promise<number> {
  return (await stat(nameFile(paths, name))).mtimeMs;
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
