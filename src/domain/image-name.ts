// Names of images as registries have them: [registry/]path[:tag][@digest].
import { ServiceError } from './errors.ts';

const DEFAULT_REGISTRY = 'docker.io';
const HUB_ALIASES = ['index.docker.io', 'registry-1.docker.io'];
const DEFAULT_TAG = 'latest';
const REGISTRY = /^(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:\d))(?::\d{1,5})?$/;
const PART = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const LONGEST = 255;

export interface ImageReference {
  /** A host, with a port where it has one; in lower case. */
  registry: string;
  path: string;
  /** A name with a digest uses it as a label only, and need not have one. */
  tag: string | undefined;
  digest: string | undefined;
}

/** The parts of a name, with the defaults put in. Throws `bad_request`. */
export function parseImageReference(text: string): ImageReference {
  const [named = '', digest, ...rest] = text.split('@');
  const parts = named.split('/');
  const registry = parts.length > 1 && REGISTRY.test(parts[0] ?? '') ? parts.shift() : undefined;
  const last = parts.pop() ?? '';
  const [name = '', tag, ...more] = last.split(':');
  const path = [...parts, name];
  const isValid =
    text.length <= LONGEST &&
    path.every((part) => PART.test(part)) &&
    (tag === undefined || TAG.test(tag)) &&
    (digest === undefined || DIGEST.test(digest)) &&
    more.length + rest.length === 0;
  if (!isValid)
    throw new ServiceError('bad_request', 'The image name is invalid.', {
      remedy: 'Use [registry/]path[:tag], in lower case except for the tag.',
    });
  const host = registry?.toLowerCase() ?? DEFAULT_REGISTRY;
  const home = HUB_ALIASES.includes(host) ? DEFAULT_REGISTRY : host;
  if (home === DEFAULT_REGISTRY && path.length === 1) path.unshift('library');
  return {
    registry: home,
    path: path.join('/'),
    tag: tag ?? (digest === undefined ? DEFAULT_TAG : undefined),
    digest,
  };
}

/** Whether a registry could have an image of this name. */
export function isImageName(text: string): boolean {
  try {
    parseImageReference(text);
    return true;
  } catch {
    return false;
  }
}

/** The complete name: `alpine` is `docker.io/library/alpine:latest`. Throws `bad_request`. */
export function completeImageName(text: string): string {
  const { registry, path, tag, digest } = parseImageReference(text);
  const label = tag === undefined ? '' : `:${tag}`;
  return `${registry}/${path}${label}${digest === undefined ? '' : `@${digest}`}`;
}

/** As people write a complete name. */
export function shortImageName(name: string): string {
  return name.replace(/^docker\.io\/(?:library\/)?/, '');
}

/** The forms in which a list of images may name it: as given, and short with its tag. */
export function imageForms(image: string): string[] {
  try {
    return [...new Set([image, shortImageName(completeImageName(image))])];
  } catch {
    // Providers have names of their own.
    return [image];
  }
}
