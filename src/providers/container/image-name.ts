// Image names as an engine reads them. `alpine` means docker.io/library/alpine:latest, and the part before the first slash
// is a registry if it looks like a host. github.com/distribution/reference

export interface ImageName {
  /** A host, often with a port; lower case. */
  registry: string;
  /** The name without registry, tag and digest. */
  path: string;
  tag: string | undefined;
  /** The digest with its algorithm: `sha256:…`. */
  digest: string | undefined;
}

const HUB = 'docker.io';
const HUB_ALIASES = ['index.docker.io', 'registry-1.docker.io'];

/** The parts of `text`, a name or a pattern of names with `*` in it. */
export function imageName(text: string): ImageName {
  const [first = '', ...others] = text.split('/');
  const hasRegistry = others.length > 0 && isHost(first);
  const registry = hasRegistry ? first.toLowerCase() : HUB;
  const [named = '', digest] = (hasRegistry ? others.join('/') : text).split('@', 2);
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const path = colon < 0 ? named : named.slice(0, colon);
  const tag = colon < 0 ? undefined : named.slice(colon + 1);
  const known = HUB_ALIASES.includes(registry) ? HUB : registry;
  const isOfficial = known === HUB && !path.includes('/') && !path.includes('**');
  return { registry: known, path: isOfficial ? `library/${path}` : path, tag, digest };
}

/**
 * The full name, which matches one image only: a short name may be the start of another image's id, and without a tag an
 * engine pulls every tag. An id (`sha256:` and 64 digits) is returned unchanged.
 */
export function fullName(text: string): string {
  if (isImageId(text)) return text;
  const { registry, path, tag, digest } = imageName(text);
  if (digest !== undefined) return `${registry}/${path}@${digest}`;
  return `${registry}/${path}:${tag ?? 'latest'}`;
}

export function isImageId(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text);
}

function isHost(part: string): boolean {
  return /[.:[]/.test(part) || part === 'localhost' || part !== part.toLowerCase();
}
