// The images that a sandbox may use. The engine contacts the registry in an image's name from its own host, so an image
// name could make it send requests to services there.
import { ServiceError } from '../../domain/errors.ts';
import { fullName, type ImageName, imageName, isImageId } from './image-name.ts';

/** Throws `bad_request` for an image that is not allowed. */
export type ImagePolicy = (reference: string) => void;

const ANY = '*';
/** Top-level names of hosts and networks close to the engine (RFC 6761, 6762, 8375, and names that clouds use). */
const INTERNAL = ['localhost', 'localdomain', 'local', 'internal', 'intranet', 'lan', 'home', 'arpa'];

/**
 * `allowed` are patterns: `*` matches one part between slashes, `**` any number of parts, and `*` alone every image. A
 * pattern without a tag allows all tags and digests. A registry that is an address or an internal name is allowed only
 * by a pattern with its full host.
 */
export function imagePolicy(allowed: readonly string[]): ImagePolicy {
  const patterns = allowed.filter((text) => text !== ANY).map((text) => ({ text, name: imageName(text) }));
  const allowsAny = allowed.includes(ANY);
  return (reference) => {
    if (isImageId(reference)) {
      if (allowsAny || allowed.includes(reference)) return;
      throw notAllowed(reference);
    }
    const requested = imageName(reference);
    const fitting = patterns.filter(({ name }) => matches(name, requested));
    if (fitting.length === 0 && !allowsAny) throw notAllowed(reference);
    const isNamed = fitting.some(({ name }) => name.registry === requested.registry);
    if (!isNamed && isInternalRegistry(requested.registry)) throw internal(reference);
  };
}

function matches(pattern: ImageName, requested: ImageName): boolean {
  if (!fits(pattern.registry, requested.registry) || !fits(pattern.path, requested.path)) return false;
  if (pattern.digest !== undefined) return pattern.digest === requested.digest;
  if (pattern.tag === undefined) return true;
  // The engine ignores the tag of a name with a digest.
  return requested.digest === undefined && fits(pattern.tag, requested.tag ?? 'latest');
}

/** Takes time proportional to the product of both lengths; a regular expression could take far longer. */
function fits(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text;
  // For each length: whether the pattern up to here matches a beginning of the text of that length.
  let fitting = Array.from({ length: text.length + 1 }, (_, end) => end === 0);
  for (const part of pattern.match(/\*+|[^*]/g) ?? []) {
    const before = fitting;
    fitting = [];
    for (let end = 0; end <= text.length; end++) {
      const last = text[end - 1];
      const isLonger = part.length > 1 || last !== '/';
      fitting[end] = part.startsWith('*')
        ? before[end] === true || (isLonger && fitting[end - 1] === true)
        : last === part && before[end - 1] === true;
    }
  }
  return fitting[text.length] === true;
}

/** Whether `registry` is an address in any spelling, or a name in the engine's own network. */
function isInternalRegistry(registry: string): boolean {
  if (registry.startsWith('[')) return true;
  const host = registry.replace(/:\d*$/, '').replace(/\.+$/, '').toLowerCase();
  const last = host.slice(host.lastIndexOf('.') + 1);
  // Resolvers read 127.1, 0x7f.1 and 2130706433 as addresses.
  return (
    !host.includes('.') || host.includes(':') || /^(\d+|0x[0-9a-f]*)$/.test(last) || INTERNAL.includes(last)
  );
}

/** Whether a pattern matches any registry or any name. */
export function isOpenPattern(text: string): boolean {
  const { registry, path } = imageName(text);
  return text === ANY || registry.includes('*') || /^\*+(\/\*+)*$/.test(path.replace(/^library\//, ''));
}

function notAllowed(reference: string): ServiceError {
  return new ServiceError('bad_request', `This server does not allow the image ${reference}.`, {
    remedy: 'Use another image, or add this one to providers.container.allowed_images.',
  });
}

function internal(reference: string): ServiceError {
  const { registry } = imageName(fullName(reference));
  return new ServiceError(
    'bad_request',
    `The registry of image ${reference} is an address or an internal name.`,
    {
      remedy: `Use another registry, or add ${registry}/** to providers.container.allowed_images.`,
    },
  );
}
