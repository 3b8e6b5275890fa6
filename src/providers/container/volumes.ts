// The VOLUMEs of an image. The engine would create an unbounded volume on its disk for each, writable even under a read-only
// root; a tmpfs of fixed size at the same path prevents that.
import { posix } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { invalidEngineReply } from './engine-faults.ts';

const MOST = 32;
const LONGEST = 1024;
/** Paths of the kernel and the agent; nothing may be mounted over or inside them. */
const TAKEN = ['/proc', '/sys', '/dev', '/.svc', '/.svc-trust'];

/**
 * The paths of `declared` (Config.Volumes of `reference`), without duplicates. Throws `bad_request` for a path where no
 * tmpfs can be mounted, and for more than 32 paths.
 */
export function declaredVolumes(reference: string, declared: unknown): string[] {
  if (declared === null || declared === undefined) return [];
  if (typeof declared !== 'object')
    throw invalidEngineReply('the volumes of an image are not an object', undefined);
  const given = Object.keys(declared);
  if (given.length > MOST) throw refused(reference, `more than ${MOST} volumes`);
  const wrong = given.find((path) => !isMountable(path));
  if (wrong !== undefined) throw refused(reference, `a volume at ${wrong.slice(0, LONGEST)}`);
  return [...new Set(given.map(cleaned))].sort();
}

function isMountable(path: string): boolean {
  const clean = cleaned(path);
  if (!path.startsWith('/') || clean === '/' || path.length > LONGEST) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a path must not contain them.
  return !/[\x00-\x1f\x7f]/.test(path) && !TAKEN.some((taken) => `${clean}/`.startsWith(`${taken}/`));
}

/** Cleaned as the engine does, which compares paths as text. */
const cleaned = (path: string) => posix.normalize(path).replace(/(.)\/+$/, '$1');

function refused(reference: string, what: string): ServiceError {
  return new ServiceError(
    'bad_request',
    `Image ${reference} declares ${what}, which a sandbox cannot have.`,
    {
      remedy: 'Use an image without that VOLUME.',
    },
  );
}
