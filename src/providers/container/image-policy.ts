// Which images a sandbox may have. The engine contacts whatever registry a name holds, from its own host, so that a caller
// could have it knock at services there.
import { ServiceError } from '../../domain/errors.ts';
import { fullName, type ImageName, imageName, isImageId } from './image-name.ts';

/** Throws `bad_request` for an image that is not allowed. */
export type ImagePolicy = (reference: string) => void;

const ANY = '*';
/** Names that stand for the engine's own host or network (RFC 6761, 6762, 8375, and what clouds use). */
const INTERNAL = ['localhost', 'localdomain', 'local', 'internal', 'intranet', 'lan', 'home', 'arpa'];

/**
 * `allowed` are names in which `*` stands for any part between slashes and `**` for any number of them; `*` alone is
 * every image. One without a tag allows all tags and digests. Registries that are addresses or internal names are
 * allowed only by a name that says their host in full.
 */
export function imagePolicy(allowed: readonly string[]): ImagePolicy {
  const patterns = allowed.filter((text) => text !== ANY).map((text) => ({ text, name: imageName(text) }));
  const allowsAny = allowed.includes(ANY);
  return (reference) => {
    if (isImageId(reference)) {
      if (allowsAny || allowed.includes(reference)) return;
      throw notAllowed(reference);
    }
    const asked = imageName(reference);
    const fitting = patterns.filter(({ name }) => matches(name, asked));
    if (fitting.length === 0 && !allowsAny) throw notAllowed(reference);
    const isNamed = fitting.some(({ name }) => name.registry === asked.registry);
    if (!isNamed && isInternalRegistry(asked.registry)) throw internal(reference);
  };
}

function matches(pattern: ImageName, asked: ImageName): boolean {
  if (!fits(pattern.registry, asked.registry) || !fits(pattern.path, asked.path)) return false;
  if (pattern.digest !== undefined) return pattern.digest === asked.digest;
  if (pattern.tag === undefined) return true;
  // With a digest the engine does not look at the tag.
  return asked.digest === undefined && fits(pattern.tag, asked.tag ?? 'latest');
}

/** In time of the one length by the other: an expression could take far longer for some names. */
function fits(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text;
  // Which beginnings of the text what has been read of the pattern fits.
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

/** Whether `registry` is an address, in whichever spelling, or a name that means the engine's own host or network. */
export function isInternalRegistry(registry: string): boolean {
  if (registry.startsWith('[')) return true;
  const host = registry.replace(/:\d*$/, '').replace(/\.+$/, '').toLowerCase();
  const last = host.slice(host.lastIndexOf('.') + 1);
  // A resolver reads 127.1, 0x7f.1 and 2130706433 as addresses.
  return (
    !host.includes('.') || host.includes(':') || /^(\d+|0x[0-9a-f]*)$/.test(last) || INTERNAL.includes(last)
  );
}

/** Whether a pattern leaves the registry or all of the name open. */
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
