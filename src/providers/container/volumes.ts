// What an image declares as VOLUME. The engine would make a volume on its disk for each, without a bound and writable
// under a read-only root; memory of fixed size, mounted there first, keeps it from doing so.
import { posix } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { invalidEngineReply } from './engine-faults.ts';

const MOST = 32;
const LONGEST = 1024;
/** What the kernel and the agent have there; nothing may be mounted over it or inside. */
const TAKEN = ['/proc', '/sys', '/dev', '/.svc'];

/**
 * The paths of `declared` (Config.Volumes of `reference`), without doubles. Throws `bad_request` for one where no memory
 * can be mounted, and for more than 32.
 */
export function declaredVolumes(reference: string, declared: unknown): string[] {
  if (declared === null || declared === undefined) return [];
  if (typeof declared !== 'object')
    throw invalidEngineReply('the volumes of an image are no object', undefined);
  const given = Object.keys(declared);
  if (given.length > MOST) throw refused(reference, `more than ${MOST} volumes`);
  const wrong = given.find((path) => !isMountable(path));
  if (wrong !== undefined) throw refused(reference, `a volume at ${wrong.slice(0, LONGEST)}`);
  return [...new Set(given.map(cleaned))].sort();
}

function isMountable(path: string): boolean {
  const clean = cleaned(path);
  if (!path.startsWith('/') || clean === '/' || path.length > LONGEST) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be in it.
  return !/[\x00-\x1f\x7f]/.test(path) && !TAKEN.some((taken) => `${clean}/`.startsWith(`${taken}/`));
}

/** As the engine cleans it, which compares paths as text. */
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
