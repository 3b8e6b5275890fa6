// Secrets kept in files of their own: `<key>_file` is read into its key. A file that anybody may read keeps no secret,
// and is refused rather than warned of.
import { resolve } from 'node:path';
import { SECRET_FILE_SUFFIX, SECRET_PATHS } from '../schema/config-keys.ts';
import { readRegularFile } from './config-file.ts';
import { type Problem, problemAt, type Setting, sourceText } from './setting.ts';

const MAX_BYTES = 64 * 1024;
const READABLE_BY_ANYBODY = 0o004;

/** Replaces each twin in `settings` by its key. A relative path counts from the configuration file that says it, else from `cwd`. */
export function readSecretFiles(settings: Map<string, Setting>, cwd: string): Problem[] {
  return SECRET_PATHS.flatMap((path) => {
    const twin = settings.get(path + SECRET_FILE_SUFFIX);
    if (!twin) return [];
    settings.delete(twin.path);
    const own = settings.get(path);
    const read = own ? { fault: bothSet(own, twin) } : readSecret(twin, cwd);
    if ('fault' in read) return [problemAt(twin.source, read.fault, twin.path)];
    const files = new Map([[path, read.file]]);
    settings.set(path, { path, value: read.secret, source: twin.source, files });
    return [];
  });
}

/** Names the position of the other source when that is another file or a variable. */
function bothSet(own: Setting, twin: Setting): string {
  const place = own.source.name === twin.source.name ? '' : ` (${sourceText(own.source)})`;
  return `${own.path}${place} and ${twin.path} are both set`;
}

/** What the file that `value` names holds, and its absolute path; or what is wrong with it. */
export function readSecret(
  { path, value, folder }: Setting,
  cwd: string,
): { secret: string; file: string } | { fault: string } {
  if (typeof value !== 'string' || value === '') return { fault: `${path} must be the path of a file` };
  try {
    const file = resolve(folder ?? cwd, value);
    const read = readRegularFile(file, MAX_BYTES);
    if (typeof read === 'string') return { fault: `the file of ${path} ${read}` };
    if (read.mode & READABLE_BY_ANYBODY)
      return { fault: `the file of ${path} is readable by everyone; run chmod o-r on it` };
    const secret = secretOf(read.bytes);
    return secret === '' ? { fault: `the file of ${path} is empty` } : { secret, file };
  } catch {
    return { fault: `the file of ${path} cannot be read` };
  }
}

/** Editors and `echo` end a file with one line break that does not belong to the secret. */
const secretOf = (bytes: Buffer): string => bytes.toString('utf8').replace(/\r?\n$/, '');
