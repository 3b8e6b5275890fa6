// Which registries and repositories may be pulled from (images.registries), and how their hosts may be reached.
import { ServiceError } from '../../domain/errors.ts';
import type { ImageReference } from '../../domain/image-name.ts';
import { isLoopbackHost } from '../../domain/loopback.ts';
import { noDigest, notAllowedRegistry } from './faults.ts';

const ANY = '*';
const HUB = 'docker.io';
const HUB_HOST = 'registry-1.docker.io';

export interface RegistrySettings {
  /** `registry`, `registry/path`, `registry/path/*`, or `*`. */
  registries: readonly string[];
  /** Base URLs for each registry, tried in order before the registry itself. */
  mirrors: Readonly<Record<string, readonly string[]>>;
  /** Hosts with ports that are spoken to by plain HTTP. */
  insecureRegistries: readonly string[];
  /** Whether a name must have a digest. */
  requireDigest: boolean;
}

/** The URLs of `images.mirrors`, which separates them by commas. Throws `bad_request` for what is not a URL. */
export function mirrorsOf(texts: Readonly<Record<string, string>>): RegistrySettings['mirrors'] {
  const lists = Object.entries(texts).map(([registry, list]) => {
    const urls = list.split(',');
    if (!urls.every((url) => URL.canParse(url))) throw invalidMirror(registry);
    return [registry, urls] as const;
  });
  return Object.fromEntries(lists);
}

function invalidMirror(registry: string): ServiceError {
  return new ServiceError('bad_request', `images.mirrors has an invalid URL for ${registry}.`, {
    remedy: 'Write base URLs like https://mirror.example:8443/path, separated by commas.',
  });
}

/** Where an image can be had: a registry or a mirror. */
export interface Endpoint {
  /** The subject of sentences. */
  what: string;
  /** Base URLs that end with a slash, tried in order: a second one where a registry may speak plain HTTP. */
  bases: readonly [URL, URL?];
  /** What credentials are kept under. */
  host: string;
  isMirror: boolean;
  loopbackAllowed: boolean;
  privateAllowed: boolean;
}

/** Throws `forbidden` for an image that no pattern allows, and for one without a digest where that is required. */
export function checkAllowed(
  { registries, requireDigest }: Pick<RegistrySettings, 'registries' | 'requireDigest'>,
  { registry, path, digest }: ImageReference,
): void {
  if (!registries.some((pattern) => matches(pattern, registry, path)))
    throw notAllowedRegistry(`${registry}/${path}`, registry);
  if (requireDigest && digest === undefined) throw noDigest(`${registry}/${path}`);
}

export function isAllowed(settings: RegistrySettings, reference: ImageReference): boolean {
  try {
    checkAllowed(settings, reference);
    return true;
  } catch {
    return false;
  }
}

function matches(pattern: string, registry: string, path: string): boolean {
  if (pattern === ANY) return true;
  const [host, ...parts] = pattern.split('/');
  if (host !== registry) return false;
  const below = parts.join('/');
  if (below === '' || below === ANY) return true;
  return below.endsWith('/*') ? path.startsWith(below.slice(0, -1)) : path === below;
}

/** A pattern names the registry itself: then its host may be on this machine or in a private network. */
const isNamed = ({ registries }: RegistrySettings, registry: string) =>
  registries.some((pattern) => pattern.split('/')[0] === registry);

/** Whether a redirect may lead to this host and port on this machine. */
export function namesHost(settings: RegistrySettings, url: URL): boolean {
  return isNamed(settings, url.host);
}

/** Mirrors first. */
export function endpointsFor(settings: RegistrySettings, registry: string): Endpoint[] {
  const mirrors = settings.mirrors[registry] ?? [];
  return [...mirrors.map(mirrorEndpoint), registryEndpoint(settings, registry)];
}

function mirrorEndpoint(text: string): Endpoint {
  const url = new URL(text);
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '');
  return {
    what: `The mirror ${url.host}`,
    bases: [new URL(`/v2/${prefix === '' ? '' : `${prefix}/`}`, url.origin)],
    host: url.host,
    isMirror: true,
    loopbackAllowed: isLoopbackHost(url.hostname),
    privateAllowed: true,
  };
}

function registryEndpoint(settings: RegistrySettings, registry: string): Endpoint {
  const host = registry === HUB ? HUB_HOST : registry;
  const secure = new URL(`https://${host}/v2/`);
  const plain = new URL(`http://${host}/v2/`);
  const named = isNamed(settings, registry);
  const isLoopback = isLoopbackHost(secure.hostname);
  const isInsecure = settings.insecureRegistries.includes(registry);
  const ownBases: Endpoint['bases'] = isLoopback && named ? [secure, plain] : [secure];
  return {
    what: `The registry ${registry}`,
    bases: isInsecure ? [plain] : ownBases,
    host: registry,
    isMirror: false,
    loopbackAllowed: isLoopback && named,
    privateAllowed: named,
  };
}
