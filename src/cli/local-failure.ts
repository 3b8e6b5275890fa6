// What the file system of this machine said, as our codes. Paths are the user's own, so they are named.
import { ServiceError } from '../domain/errors.ts';
import type { ErrorCode } from '../schema/error.ts';

const WORDS: Record<string, readonly [ErrorCode, string]> = {
  ENOENT: ['not_found', 'there is no such file or folder here'],
  ENOTDIR: ['conflict', 'a part of the path here is not a folder'],
  EISDIR: ['conflict', 'there is a folder of this name here'],
  EEXIST: ['conflict', 'there is something else of this name here'],
  ENOTEMPTY: ['conflict', 'there is a folder of this name here'],
  ELOOP: ['conflict', 'there is a link of this name here'],
  ENAMETOOLONG: ['bad_request', 'the name is too long for this machine'],
  EACCES: ['forbidden', 'this user may not do that here'],
  EPERM: ['forbidden', 'this user may not do that here'],
  EROFS: ['forbidden', 'the file system here is read-only'],
  ENOSPC: ['resource_limit', 'the disk here is full'],
  EDQUOT: ['resource_limit', 'the disk quota here is used up'],
};

/** `error` itself when it is no system error. */
export function localFailure(error: unknown): unknown {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (error instanceof ServiceError || code === undefined || syscall === undefined) return error;
  const [ours, words] = WORDS[code] ?? (['internal', `the file system here answered ${code}`] as const);
  return new ServiceError(ours, `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`, { cause: error });
}

/** `work`, its failures in our codes. */
export async function here<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw localFailure(error);
  }
}
