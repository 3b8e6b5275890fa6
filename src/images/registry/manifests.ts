// Finds out what an image is made of: index, manifest and config. All are hostile input: hashed before they are parsed, and
// a digest that was asked for must fit.
import type { Clock } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import {
  configOf,
  type Descriptor,
  indexOf,
  MOST_DOCUMENT,
  manifestOf,
  type ParsedConfig,
  parseDocument,
} from '../documents.ts';
import { digestOf, isDigest } from '../store-paths.ts';
import type { RegistryClient } from './client.ts';
import { bytesOf } from './connections.ts';
import { asInvalidImage, invalidImage, noPlatform, pullTimedOut } from './faults.ts';

const DOCUMENT_MS = 60_000;
const INDEXES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
const OLD = /^application\/vnd\.docker\.distribution\.manifest\.v1\+(?:json|prettyjws)$/;
const CONFIGS = [
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
];
const LAYER =
  /^application\/vnd\.(?:oci\.image\.layer\.v1|docker\.image\.rootfs\.diff)\.tar(?:[.+](?:gzip|zstd))?$/;
const ACCEPT = { accept: [...INDEXES, ...MANIFESTS].join(', ') };

export interface DocumentDeps {
  clock: Clock;
  client: RegistryClient;
  signal: AbortSignal;
}

export interface ResolvedImage extends ParsedConfig {
  /** What the tag leads to: the index where there is one. */
  resolved: string;
  /** Identifies the manifest. */
  digest: string;
  configDigest: string;
  layers: Descriptor[];
}

/** Only asks where the tag leads to; undefined where the registry does not say. Its word is good for "unchanged" alone. */
export async function headDigest(deps: DocumentDeps, reference: string): Promise<string | undefined> {
  return inTime(deps, async (signal) => {
    const answer = await deps.client.manifest(reference, { method: 'HEAD', headers: ACCEPT, signal });
    const digest = answer.headers['docker-content-digest'];
    return isDigest(digest) ? digest : undefined;
  });
}

/** `platform` such as linux/amd64 or linux/arm/v7. Throws `not_found` when it is not offered, and `provider_error`. */
export async function resolveImage(
  deps: DocumentDeps,
  reference: string,
  platform: string,
): Promise<ResolvedImage> {
  try {
    const top = await manifestBytes(deps, reference);
    const entries = indexOf(top.document);
    const chosen = entries && chooseEntry(entries, platform);
    const own = chosen ? await manifestBytes(deps, chosen.digest, chosen.size) : top;
    if (indexOf(own.document)) throw invalidImage('An index of the image lists another index.');
    const manifest = manifestOf(own.document);
    checkKinds(manifest);
    const config = configOf(parseDocument(await configBytes(deps, manifest.config)));
    if (config.diffIds.length !== manifest.layers.length)
      throw invalidImage('The manifest and the config of the image name different layers.');
    if (!entries && config.platform !== osAndArchitecture(platform))
      throw noPlatform(platform, [config.platform].filter(isPlain));
    return {
      ...config,
      resolved: top.digest,
      digest: own.digest,
      configDigest: manifest.config.digest,
      layers: manifest.layers,
    };
  } catch (error) {
    throw asInvalidImage(error);
  }
}

function inTime<T>({ clock, signal }: DocumentDeps, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return withTimeout({ clock, ms: DOCUMENT_MS, error: pullTimedOut, signal }, work);
}

/** `size` is that of the index that names it. */
async function manifestBytes(deps: DocumentDeps, reference: string, size = MOST_DOCUMENT) {
  const { type, bytes } = await inTime(deps, async (signal) => {
    const answer = await deps.client.manifest(reference, { headers: ACCEPT, signal });
    const most = Math.min(size, MOST_DOCUMENT);
    return {
      type: (answer.headers['content-type'] ?? '').replace(/\s*;.*$/s, '').toLowerCase(),
      bytes: await bytesOf(answer, most, signal),
    };
  });
  const digest = digestOf(bytes);
  if (isDigest(reference) && digest !== reference)
    throw invalidImage('The manifest of the image differs from its digest.');
  return { digest, document: checkedDocument(type, bytes) };
}

/** The kind that the head, the document and its fields give must be the same one. CVE-2021-41190 */
function checkedDocument(type: string, bytes: Buffer): unknown {
  if (OLD.test(type)) throw oldManifest();
  const document = parseDocument(bytes);
  const { mediaType, schemaVersion, manifests } = (document ?? {}) as Record<string, unknown>;
  if (schemaVersion === 1) throw oldManifest();
  const isKnown = (Array.isArray(manifests) ? INDEXES : MANIFESTS).includes(type);
  if (!isKnown || (mediaType !== undefined && mediaType !== type))
    throw invalidImage('The manifest of the image is not of the kind that the registry says.');
  return document;
}

const oldManifest = () =>
  invalidImage('The image has a manifest of the old schema 1, which is not supported.');

/** A name that leads to a chart, a signature or another artifact is not an image. */
function checkKinds({ config, layers }: { config: Descriptor; layers: Descriptor[] }): void {
  const isImage =
    CONFIGS.includes(config.mediaType) && layers.every(({ mediaType }) => LAYER.test(mediaType));
  if (!isImage) throw invalidImage('The name leads to something that is not a container image.');
}

async function configBytes({ client, ...deps }: DocumentDeps, { digest, size }: Descriptor): Promise<Buffer> {
  if (size > MOST_DOCUMENT) throw invalidImage('The config of the image is too large.');
  const bytes = await inTime({ client, ...deps }, async (signal) =>
    bytesOf(await client.blob(digest, 0, signal), size, signal),
  );
  if (bytes.length !== size || digestOf(bytes) !== digest)
    throw invalidImage('The config of the image differs from its digest.');
  return bytes;
}

const osAndArchitecture = (platform: string) => platform.split('/').slice(0, 2).join('/');
/** Variants that every processor of the architecture is. */
const COMMON: Record<string, readonly string[]> = { 'linux/amd64': ['', 'v1'], 'linux/arm64': ['', 'v8'] };

function chooseEntry(entries: readonly Descriptor[], wanted: string): Descriptor {
  const general = osAndArchitecture(wanted);
  const variant = wanted.split('/')[2];
  const variants = variant === undefined ? (COMMON[general] ?? ['']) : [variant];
  const chosen = entries.find((entry) => entry.platform === general && variants.includes(entry.variant));
  if (chosen) return chosen;
  const offered = entries
    .filter(({ platform }) => platform !== undefined && platform !== 'unknown/unknown')
    .map(({ platform, variant: kind }) => (kind === '' ? `${platform}` : `${platform}/${kind}`));
  throw noPlatform(wanted, [...new Set(offered)].filter(isPlain).slice(0, 20));
}

/** They are shown, so nothing else may be in them. */
const isPlain = (platform: string) => /^[a-z0-9]+\/[a-z0-9]+(?:\/[a-z0-9]+)?$/.test(platform);
