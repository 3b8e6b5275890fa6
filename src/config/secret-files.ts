// Secrets kept in files of their own: `<key>_file` is read into its key. A file that anybody may read keeps no secret,
// and is refused rather than warned of.
import { dirname, resolve } from 'node:path';
import { SECRET_FILE_SUFFIX, SECRET_PATHS } from '../schema/config-keys.ts';
import { type FoundFile, readRegularFile } from './config-file.ts';
import { type Problem, problemAt, type Setting } from './setting.ts';

const MAX_BYTES = 64 * 1024;
const READABLE_BY_ANYBODY = 0o004;

export interface Folders {
  cwd: string;
  file: FoundFile | undefined;
}

/** Replaces each twin in `settings` by its key. A relative path counts from the configuration file that says it, else from `cwd`. */
export function readSecretFiles(settings: Map<string, Setting>, folders: Folders): Problem[] {
  return SECRET_PATHS.flatMap((path) => {
    const twin = settings.get(path + SECRET_FILE_SUFFIX);
    if (!twin) return [];
    settings.delete(twin.path);
    const fault = settings.has(path) ? `${path} and ${twin.path} are both set` : undefined;
    const read = fault === undefined ? readSecret(twin, folders) : { fault };
    if ('fault' in read) return [problemAt(twin.source, read.fault, twin.path)];
    settings.set(path, { path, value: read.secret, source: twin.source });
    return [];
  });
}

/** What the file that `value` names holds, or what is wrong with it. */
export function readSecret(
  { path, value, source }: Setting,
  { cwd, file }: Folders,
): { secret: string } | { fault: string } {
  if (typeof value !== 'string' || value === '') return { fault: `${path} must be the path of a file` };
  const base = source.layer === 'file' && file ? dirname(file.path) : cwd;
  try {
    const read = readRegularFile(resolve(base, value), MAX_BYTES);
    if (typeof read === 'string') return { fault: `the file of ${path} ${read}` };
    if (read.mode & READABLE_BY_ANYBODY)
      return { fault: `the file of ${path} may be read by anybody; run chmod o-r on it` };
    return secretOf(read.bytes, path);
  } catch {
    return { fault: `the file of ${path} cannot be read` };
  }
}

/** Editors and `echo` end a file with one line break that is no part of the secret. */
function secretOf(bytes: Buffer, path: string): { secret: string } | { fault: string } {
  const secret = bytes.toString('utf8').replace(/\r?\n$/, '');
  return secret === '' ? { fault: `the file of ${path} is empty` } : { secret };
}
