// The documents of images: OCI indexes, manifests and configs, and the manifest of `docker save`. They are hostile input:
// bounded, hashed before they are parsed, and only known fields are used.

import { invalid } from './invalid-image.ts';
import { hexOf, isDigest } from './store-paths.ts';

export const MOST_DOCUMENT = 4 * 1024 * 1024;
const MOST_LAYERS = 128;
const MOST_TEXT = 4096;
const MOST_WORDS = 1000;
const MOST_VARIABLE = 16 * 1024;

type Fields = Record<string, unknown>;

export interface Descriptor {
  digest: string;
  size: number;
  mediaType: string;
  platform: string | undefined;
  /** The processor's variant, such as v7; empty where there is none. */
  variant: string;
  annotations: Fields;
}

export interface Manifest {
  config: Descriptor;
  layers: Descriptor[];
}

export interface ImageConfig {
  user: string;
  workdir: string;
  env: Record<string, string>;
  entrypoint: string[];
  cmd: string[];
  exposed_ports: string[];
}

export interface ParsedConfig {
  /** For example linux/amd64. */
  platform: string;
  diffIds: string[];
  config: ImageConfig;
  /** How many variables of its environment cannot be used. */
  unusedVariables: number;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
const textOf = (value: unknown, most = MOST_TEXT): string =>
  typeof value === 'string' && value.length <= most && !value.includes('\0') ? value : '';
const textsOf = (value: unknown): string[] =>
  Array.isArray(value)
    ? value
        .slice(0, MOST_WORDS)
        .filter((text) => typeof text === 'string')
        .map((text) => textOf(text))
    : [];

export function parseDocument(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw invalid('A document of the image is not valid JSON.', cause);
  }
}

function descriptorOf(value: unknown): Descriptor {
  const { digest, size, mediaType, platform, annotations } = fieldsOf(value);
  if (!isDigest(digest)) hexOf(`${digest}`);
  if (!Number.isSafeInteger(size) || (size as number) < 0)
    throw invalid('A document of the image has an invalid size.');
  return {
    digest: digest as string,
    size: size as number,
    mediaType: textOf(mediaType),
    platform: isFields(platform) ? platformOf(platform) : undefined,
    variant: textOf(fieldsOf(platform).variant),
    annotations: fieldsOf(annotations),
  };
}

const platformOf = ({ os, architecture }: Fields) => `${wordOf(os)}/${wordOf(architecture)}`;
/** Errors name platforms, so nothing else may be in them. */
const wordOf = (value: unknown) => (/^[\w.-]{0,32}$/.test(textOf(value)) ? textOf(value) : 'unknown');

/** The entries of an index; undefined when the document is not one. */
export function indexOf(document: unknown): Descriptor[] | undefined {
  const { manifests, layers } = fieldsOf(document);
  if (manifests !== undefined && layers !== undefined)
    throw invalid('A document of the image is both an index and a manifest.');
  if (!Array.isArray(manifests)) return undefined;
  if (manifests.length > MOST_WORDS) throw invalid('The index of the image has too many entries.');
  return manifests.map(descriptorOf);
}

export function manifestOf(document: unknown): Manifest {
  const { config, layers } = fieldsOf(document);
  if (!Array.isArray(layers)) throw invalid('The image has a manifest of an unknown kind.');
  if (layers.length > MOST_LAYERS) throw invalid(`The image has more than ${MOST_LAYERS} layers.`);
  const found = layers.map(descriptorOf);
  if (found.some(({ mediaType }) => /nondistributable|foreign/.test(mediaType)))
    throw invalid('The image has a layer that its publisher keeps elsewhere.');
  return { config: descriptorOf(config), layers: found };
}

/** Throws `provider_error` unless it has a digest for each layer. */
export function configOf(document: unknown): ParsedConfig {
  const fields = fieldsOf(document);
  const config = fieldsOf(fields.config);
  const diffIds = fieldsOf(fields.rootfs).diff_ids;
  if (!Array.isArray(diffIds) || diffIds.length > MOST_LAYERS || diffIds.length === 0)
    throw invalid('The config of the image names no layers, or too many.');
  for (const digest of diffIds) hexOf(`${digest}`);
  const { env, unused } = environmentOf(config.Env);
  return {
    platform: platformOf(fields),
    diffIds,
    config: {
      user: textOf(config.User),
      workdir: textOf(config.WorkingDir),
      env,
      entrypoint: textsOf(config.Entrypoint),
      cmd: textsOf(config.Cmd),
      exposed_ports: Object.keys(fieldsOf(config.ExposedPorts))
        .slice(0, MOST_WORDS)
        .map((text) => textOf(text)),
    },
    unusedVariables: unused,
  };
}

function environmentOf(value: unknown): { env: Record<string, string>; unused: number } {
  const all: unknown[] = Array.isArray(value) ? value : [];
  const lines = all.slice(0, MOST_WORDS).map((line) => textOf(line, MOST_VARIABLE));
  const usable = lines.filter((line) => line.indexOf('=') > 0);
  const pairs = usable.map((line) => line.split(/=(.*)/s));
  const env = Object.fromEntries(pairs.map(([name = '', text = '']) => [name, text]));
  return { env, unused: all.length - usable.length };
}

export interface SavedImage {
  config: string;
  layers: string[];
  names: string[];
}

/** The images that manifest.json of `docker save` lists, by paths in the archive. */
export function savedImages(document: unknown): SavedImage[] {
  if (!Array.isArray(document) || document.length === 0 || document.length > MOST_LAYERS)
    throw invalid('The archive has a manifest of an unknown kind.');
  return document.map((item) => {
    const { Config, Layers, RepoTags } = fieldsOf(item);
    const layers = textsOf(Layers);
    if (typeof Config !== 'string' || layers.length === 0 || layers.length > MOST_LAYERS)
      throw invalid('The archive has a manifest of an unknown kind.');
    return { config: Config, layers, names: textsOf(RepoTags) };
  });
}
