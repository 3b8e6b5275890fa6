// Finds out what an archive holds, by its content: an OCI layout, what `docker save` writes, or a root file system.
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import {
  configOf,
  type Descriptor,
  indexOf,
  MOST_DOCUMENT,
  manifestOf,
  type ParsedConfig,
  parseDocument,
  savedImages,
} from './documents.ts';
import { cutOff, invalid } from './invalid-image.ts';
import { folderMembers, type Members, tarMembers } from './members.ts';
import { digestOf, hexOf } from './store-paths.ts';

/** Layers of this kind of processor run here. */
export const OWN_PLATFORM = `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;
const ROOT_FOLDERS = ['bin', 'etc', 'usr'];

export interface ArchivedLayer {
  /** Identifies the bytes in the archive; undefined where no document gives it. */
  digest: string | undefined;
  open(): Promise<{ size: number; bytes: Readable }>;
}

export interface ArchivedImage extends Omit<ParsedConfig, 'diffIds'> {
  names: string[];
  /** Identifies the manifest, or the config of an image without a manifest. */
  digest: string | undefined;
  configDigest: string | undefined;
  /** Undefined: the layer's own digest is not known before it is read. */
  diffIds: string[] | undefined;
  layers: ArchivedLayer[];
}

export interface Archive {
  kind: 'oci' | 'docker-archive' | 'rootfs';
  images: ArchivedImage[];
  close(): Promise<void>;
}

/** `path` is a folder, or a plain tar. Throws `provider_error` for damaged ones, `bad_request` for a file that is not a tar. */
export async function openArchive(path: string, signal: AbortSignal): Promise<Archive> {
  const isFolder = (await stat(path)).isDirectory();
  const members = isFolder ? folderMembers(path, await readdir(path)) : await tarMembers(path, signal);
  try {
    return { ...(await imagesOf(members, isFolder ? undefined : path)), close: members.close };
  } catch (error) {
    await members.close();
    throw error;
  }
}

async function imagesOf(members: Members, tar: string | undefined): Promise<Omit<Archive, 'close'>> {
  const layout = await members.read('oci-layout', MOST_DOCUMENT);
  if (layout) return { kind: 'oci', images: await ociImages(members) };
  const saved = await members.read('manifest.json', MOST_DOCUMENT);
  if (saved) return { kind: 'docker-archive', images: await dockerImages(members, saved) };
  const isRoot = ROOT_FOLDERS.some((name) => members.hasTop(name));
  if (tar === undefined) throw noLayout(isRoot);
  if (!isRoot) throw invalid('The archive is neither an image nor a root file system.');
  // No digest says that it is complete.
  if (!members.hasEnd) throw cutOff();
  return { kind: 'rootfs', images: [rootImage(tar)] };
}

function noLayout(isRoot: boolean): ServiceError {
  return new ServiceError('bad_request', 'The folder is not an OCI layout.', {
    remedy: isRoot
      ? 'Pack a root file system first: tar -C FOLDER -c . | svc image import - --name NAME'
      : 'Give the folder that has the files oci-layout and index.json.',
  });
}

const blob = (digest: string) => `blobs/sha256/${hexOf(digest)}`;

/** The document that a descriptor names, when its bytes are the ones that it means. */
async function document(members: Members, { digest, size }: Descriptor): Promise<unknown> {
  const bytes = await members.read(blob(digest), MOST_DOCUMENT);
  if (!bytes) throw invalid('The archive lacks a file that it refers to.');
  if (bytes.length !== size || digestOf(bytes) !== digest)
    throw invalid('A document of the image differs from its digest.');
  return parseDocument(bytes);
}

async function ociImages(members: Members): Promise<ArchivedImage[]> {
  const bytes = await members.read('index.json', MOST_DOCUMENT);
  const entries = bytes && indexOf(parseDocument(bytes));
  if (!entries) throw invalid('The archive has no index of images.');
  const images: ArchivedImage[] = [];
  for (const entry of entries.filter(isImage)) images.push(await ociImage(members, entry));
  return images;
}

/** Attestations have a platform of their own kind. */
const isImage = ({ platform }: Descriptor) => platform !== 'unknown/unknown';

async function ociImage(members: Members, entry: Descriptor): Promise<ArchivedImage> {
  let chosen = entry;
  let found = await document(members, entry);
  const platforms = indexOf(found);
  if (platforms) {
    chosen = choose(platforms);
    found = await document(members, chosen);
    if (indexOf(found)) throw invalid('An index of the image lists another index.');
  }
  const manifest = manifestOf(found);
  const parsed = configOf(await document(members, manifest.config));
  if (parsed.diffIds.length !== manifest.layers.length)
    throw invalid('The manifest and the config of the image name different layers.');
  return {
    ...parsed,
    names: namesOf(entry),
    digest: chosen.digest,
    configDigest: manifest.config.digest,
    layers: manifest.layers.map(({ digest, size }) => ({
      digest,
      open: async () => {
        const file = await members.open(blob(digest));
        if (file.size === size) return file;
        file.bytes.destroy();
        throw invalid('A layer of the image differs from its size.');
      },
    })),
  };
}

function choose(platforms: readonly Descriptor[]): Descriptor {
  const images = platforms.filter(isImage);
  const chosen = images.find(({ platform }) => platform === OWN_PLATFORM) ?? images[0];
  if (!chosen) throw invalid('The index of the image is empty.');
  return chosen;
}

/** Engines write the complete name there; other tools write only the tag. */
function namesOf({ annotations }: Descriptor): string[] {
  const name = annotations['io.containerd.image.name'];
  const label = annotations['org.opencontainers.image.ref.name'];
  if (typeof name === 'string') return [name];
  return typeof label === 'string' && /[/:]/.test(label) ? [label] : [];
}

async function dockerImages(members: Members, bytes: Buffer): Promise<ArchivedImage[]> {
  const images: ArchivedImage[] = [];
  for (const saved of savedImages(parseDocument(bytes))) {
    const config = await members.read(saved.config, MOST_DOCUMENT);
    if (!config) throw invalid('The archive lacks a file that it refers to.');
    const parsed = configOf(parseDocument(config));
    if (parsed.diffIds.length !== saved.layers.length)
      throw invalid('The manifest and the config of the image name different layers.');
    const digest = digestOf(config);
    const layers = saved.layers.map((name) => ({ digest: undefined, open: () => members.open(name) }));
    images.push({ ...parsed, names: saved.names, digest, configDigest: digest, layers });
  }
  return images;
}

function rootImage(tar: string): ArchivedImage {
  const open = async () => {
    return { size: (await stat(tar)).size, bytes: createReadStream(tar, { highWaterMark: 1024 * 1024 }) };
  };
  const config = { user: '', workdir: '', env: {}, entrypoint: [], cmd: [], exposed_ports: [] };
  return {
    names: [],
    digest: undefined,
    configDigest: undefined,
    platform: OWN_PLATFORM,
    diffIds: undefined,
    config,
    unusedVariables: 0,
    layers: [{ digest: undefined, open }],
  };
}
