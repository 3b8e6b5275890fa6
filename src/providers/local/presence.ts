// Whether something exists: only ENOENT and ESRCH prove that it does not. Any other error (no descriptors, an unreadable disk)
// proves nothing; taking it for an end would remove a sandbox that runs.
import { ServiceError } from '../../domain/errors.ts';

const GONE = new Set(['ENOENT', 'ESRCH']);
/** Another user's: invisible to us, or not a folder. */
const HIDDEN = new Set([...GONE, 'EACCES', 'EPERM', 'ENOTDIR']);

/** The result of `look`; undefined when the thing does not exist. Throws `unavailable` when that cannot be determined. */
export function ifPresent<T>(look: Promise<T>): Promise<T | undefined> {
  return look.catch((error: unknown) => unlessIn(GONE, error));
}

/** The same for another user's files and processes; undefined also when they are hidden from us. */
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
