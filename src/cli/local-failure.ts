// File system errors of this machine as ServiceErrors. They name the path, because it is the user's own.
import { ServiceError } from '../domain/errors.ts';
import type { ErrorCode } from '../schema/error.ts';

const WORDS: Record<string, readonly [ErrorCode, string]> = {
  ENOENT: ['not_found', 'there is no such file or folder here'],
  ENOTDIR: ['conflict', 'a part of the path here is not a folder'],
  EISDIR: ['conflict', 'there is a folder of this name here'],
  EEXIST: ['conflict', 'something else with this name exists here'],
  ENOTEMPTY: ['conflict', 'there is a folder of this name here'],
  ELOOP: ['conflict', 'there is a link of this name here'],
  ENAMETOOLONG: ['bad_request', 'the name is too long for this machine'],
  EACCES: ['forbidden', 'this user has no permission here'],
  EPERM: ['forbidden', 'this user has no permission here'],
  EROFS: ['forbidden', 'the file system here is read-only'],
  ENOSPC: ['resource_limit', 'the disk here is full'],
  EDQUOT: ['resource_limit', 'the disk quota here is used up'],
};

/** The reason without the file name, as part of a sentence. */
export function localReason(error: unknown): string {
  const { code = 'nothing' } = (error ?? {}) as NodeJS.ErrnoException;
  return WORDS[code]?.[1] ?? `the file system here answered ${code}`;
}

/** Returns other errors unchanged. `named` is the user's name for the file, if it is not its path. */
export function localFailure(error: unknown, named?: string): unknown {
  const { code, syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (error instanceof ServiceError || code === undefined || syscall === undefined) return error;
  const words = localReason(error);
  const file = named ?? path;
  const text =
    file === undefined ? `${words.slice(0, 1).toUpperCase()}${words.slice(1)}` : `${file}: ${words}`;
  return new ServiceError(WORDS[code]?.[0] ?? 'internal', `${text}.`, { cause: error });
}

/** Rejects with a ServiceError where `work` fails with a system error. */
export async function withLocalErrors<T>(work: Promise<T>, named?: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw localFailure(error, named);
  }
}
