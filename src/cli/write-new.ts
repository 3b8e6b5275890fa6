// Writes new files without overwriting existing ones by accident.
import { existsSync, writeFileSync } from 'node:fs';
import { ServiceError } from '../domain/errors.ts';
import { localReason } from './local-failure.ts';

/** Only this user can read the file, because users add keys to it. Throws `conflict` if it exists, unless `force`. */
export function writeNew(path: string, text: string, force: boolean): void {
  try {
    writeFileSync(path, text, { flag: force ? 'w' : 'wx', mode: 0o600 });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') throw fileExists(path, cause);
    throw new ServiceError('bad_request', `The file cannot be written: ${localReason(cause)}.`, {
      details: { file: path },
      cause,
    });
  }
}

/** Writes each file as `writeNew` does, or none if one of them exists, unless `force`. */
export function writeAllNew(files: readonly { path: string; text: string }[], force: boolean): void {
  const there = files.find(({ path }) => !force && existsSync(path));
  if (there) throw fileExists(there.path);
  for (const { path, text } of files) writeNew(path, text, force);
}

function fileExists(path: string, cause?: unknown): ServiceError {
  return new ServiceError('conflict', 'The file exists.', {
    remedy: 'Use --force to overwrite it, or --output.',
    details: { file: path },
    ...(cause !== undefined && { cause }),
  });
}
