// Whether something is still there: only ENOENT and ESRCH say that it is gone. Every other error (descriptors used up, an
// unreadable disk) says nothing, and whoever took it for an end would throw away a sandbox that lives.
import { ServiceError } from '../../domain/errors.ts';

const GONE = new Set(['ENOENT', 'ESRCH']);
/** Somebody else's: what is not ours to see, or no folder, is not ours. */
const HIDDEN = new Set([...GONE, 'EACCES', 'EPERM', 'ENOTDIR']);

/** What `look` finds; undefined when that is gone. Throws `unavailable` when it cannot be known. */
export function ifPresent<T>(look: Promise<T>): Promise<T | undefined> {
  return look.catch((error: unknown) => unlessIn(GONE, error));
}

/** The same for what may be another user's; undefined also when it is hidden from us. */
export function ifOurs<T>(look: Promise<T>): Promise<T | undefined> {
  return look.catch((error: unknown) => unlessIn(HIDDEN, error));
}

function unlessIn(codes: ReadonlySet<string>, cause: unknown): undefined {
  const { code = 'no code' } = cause as NodeJS.ErrnoException;
  if (codes.has(code)) return undefined;
  throw new ServiceError('unavailable', `Could not determine whether a runtime exists (${code}).`, {
    cause,
    remedy: 'Try again. Check the open files and the memory of the server.',
  });
}
