// The images that microVMs run: those that `svc image build` made, and files that the configuration names. A built one is
// a file named by its digest and a record that names it, so that an image changes all at once, and never under a guest.
import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { parseImage } from '../../domain/image.ts';
import { fileIdentity } from '../../host/disk.ts';
import { makeFolders } from '../../host/make-folders.ts';
import type { SlowFolders } from '../../host/slow-folders.ts';

const RECORD = '.json';
const LONGEST_NAME = 100;
const DIGEST = /^[0-9a-f]{64}$/;

/** What is written beside a built image. */
export interface ImageRecord {
  name: string;
  /** SHA-256 of the file, hex. */
  digest: string;
  size_bytes: number;
  /** ISO 8601 */
  created_at: string;
  /** What it was built from, such as `container alpine:3.20`. */
  source: string;
}

export interface GuestImage {
  name: string;
  /** An ext4 file system without a partition table. */
  path: string;
  /** Changes whenever the content does. Of a built one: SHA-256 of the file, hex. */
  version: string;
  size_bytes: number;
  /** The digest of a built image. */
  record?: ImageRecord;
}

export interface ImageFolders {
  /** `providers.microvm.data_dir` */
  dataFolder: string;
  /** `providers.microvm.images`: files by name; they go before what was built. */
  configured: Readonly<Record<string, string>>;
  /** Bounds calls on configured files, which may lie on a mount that hangs; unbounded without it. */
  slowly?: SlowFolders;
}

const imagesFolder = (dataFolder: string) => join(dataFolder, 'images');

/** Undefined when the image or its file does not exist. Throws `provider_error` when it cannot be read. */
export async function findImage(folders: ImageFolders, name: string): Promise<GuestImage | undefined> {
  const configured = Object.hasOwn(folders.configured, name) ? folders.configured[name] : undefined;
  if (configured !== undefined) return configuredImage(folders, name, configured);
  if (!isImageName(name)) return undefined;
  const record = await readRecord(recordPath(folders.dataFolder, name));
  return record && builtImage(folders.dataFolder, record);
}

/** Those that can be run, by name. Throws `provider_error` when the folder is there but cannot be read. */
export async function listImages(folders: ImageFolders): Promise<GuestImage[]> {
  const files = (await readdir(imagesFolder(folders.dataFolder)).catch(ifAbsent)) ?? [];
  const built = files.filter((file) => file.endsWith(RECORD)).map(nameOfRecord);
  const names = new Set([...built, ...Object.keys(folders.configured)]);
  const images = await Promise.all([...names].sort().map((name) => findImage(folders, name)));
  return images.filter((image) => image !== undefined);
}

/** Throws `bad_request` for what cannot be the name of a built image. */
export function parseImageName(name: string): string {
  if (isImageName(name)) return name;
  throw new ServiceError('bad_request', 'Invalid image name.', {
    remedy: `Write it like debian:12, at most ${LONGEST_NAME} characters.`,
  });
}

function isImageName(name: string): boolean {
  try {
    return parseImage(name, 'The name').length <= LONGEST_NAME;
  } catch {
    return false;
  }
}

/** Moves `file` to the name in `record`. It replaces the previous image at once; running guests keep theirs. */
export async function installImage(dataFolder: string, file: string, record: ImageRecord): Promise<string> {
  const folder = imagesFolder(dataFolder);
  const before = await readRecord(recordPath(dataFolder, record.name));
  const path = contentPath(dataFolder, record.digest);
  await rename(file, path);
  const part = join(folder, `.record-${process.pid}`);
  await writeFile(part, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o644, flush: true });
  await rename(part, recordPath(dataFolder, record.name));
  if (before && before.digest !== record.digest) await dropContent(dataFolder, before.digest);
  return path;
}

/** Removes a built image. Throws `not_found`. Running guests keep it; the caller checks for them. */
export async function removeImage(dataFolder: string, name: string): Promise<ImageRecord> {
  const path = recordPath(dataFolder, parseImageName(name));
  const record = await readRecord(path);
  if (!record) throw noImage(name);
  await rm(path);
  await dropContent(dataFolder, record.digest);
  return record;
}

export function noImage(name: string): ServiceError {
  return new ServiceError('not_found', `Image ${name} for microVMs does not exist.`, {
    remedy: 'Run `svc image list` to see the images, or `svc image build` to build one.',
  });
}

/** Makes the folder. It is the server's alone: images may hold secrets, and monitors open them before they change users. */
export async function makeImagesFolder(dataFolder: string): Promise<string> {
  const folder = imagesFolder(dataFolder);
  await makeFolders(folder, 0o700);
  return folder;
}

async function builtImage(dataFolder: string, record: ImageRecord): Promise<GuestImage | undefined> {
  const path = contentPath(dataFolder, record.digest);
  const facts = await stat(path).catch(ifAbsent);
  if (facts?.size !== record.size_bytes) return undefined;
  return { name: record.name, path, version: record.digest, size_bytes: record.size_bytes, record };
}

/** See fileIdentity. */
export function imageIdentity({ slowly = atOnce }: ImageFolders, path: string): Promise<string | undefined> {
  return slowly(() => fileIdentity(path));
}

const atOnce: SlowFolders = (work) => work();

/** Its content is not read for its version: it may be gigabytes. */
async function configuredImage(
  { slowly = atOnce }: ImageFolders,
  name: string,
  path: string,
): Promise<GuestImage | undefined> {
  return slowly(async () => {
    const identity = await fileIdentity(path);
    if (identity === undefined) return undefined;
    const version = createHash('sha256').update(identity).digest('hex');
    return { name, path, version, size_bytes: (await stat(path)).size };
  });
}

const contentPath = (dataFolder: string, digest: string) => join(imagesFolder(dataFolder), `${digest}.ext4`);

/** A name may hold `/`; a file's may not. */
const recordPath = (dataFolder: string, name: string) =>
  join(imagesFolder(dataFolder), `${encodeURIComponent(name)}${RECORD}`);

function nameOfRecord(file: string): string {
  try {
    return decodeURIComponent(file.slice(0, -RECORD.length));
  } catch {
    return '';
  }
}

async function readRecord(path: string): Promise<ImageRecord | undefined> {
  const text = await readFile(path, 'utf8').catch(ifAbsent);
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text);
    return DIGEST.test(record.digest) && typeof record.name === 'string' ? record : undefined;
  } catch {
    return undefined;
  }
}

const ABSENT = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'];

/** An unreadable folder exists: reporting it as absent would mislead its owner. */
function ifAbsent(cause: NodeJS.ErrnoException): undefined {
  if (ABSENT.includes(`${cause.code}`)) return undefined;
  throw new ServiceError('provider_error', 'The images for virtual machines cannot be read.', {
    cause,
    remedy: 'Run `svc image build` as the user of the service: only their owner can read images.',
  });
}

/** Unless another name has the same. */
async function dropContent(dataFolder: string, digest: string): Promise<void> {
  const images = await listImages({ dataFolder, configured: {} });
  if (images.some(({ version }) => version === digest)) return;
  await rm(contentPath(dataFolder, digest), { force: true });
}

/** The image of a spawn that names none. Configured images come first. Throws `unavailable` when there are no images. */
export async function firstImage(folders: ImageFolders): Promise<GuestImage> {
  const all = await listImages(folders);
  const configured = Object.keys(folders.configured);
  const image = all.find(({ name }) => name === configured[0]) ?? all[0];
  if (image) return image;
  throw noImages();
}

export function noImages(): ServiceError {
  return new ServiceError('unavailable', 'No image for virtual machines found.', {
    remedy:
      'Pull one with svc image pull and name it in the request, build one with svc image build, or name a file in providers.microvm.images.',
  });
}

/** Names of those that can be run, if any. Throws `unavailable` when a configured file is not there. */
export async function imageNames(folders: ImageFolders): Promise<string[]> {
  const names = (await listImages(folders)).map(({ name }) => name);
  const missing = Object.keys(folders.configured).find((name) => !names.includes(name));
  if (missing === undefined) return names;
  throw new ServiceError('unavailable', `The file of image ${missing} does not exist.`, {
    remedy: 'Correct providers.microvm.images.',
  });
}
