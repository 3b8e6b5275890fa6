// FileInfo from a backend's description of a file. Path and type are required, and the path must be the requested one; other
// fields are used where they are valid.
import { posix } from 'node:path';
import type { FileInfo } from '../../schema/file.ts';
import { fileInfo } from '../backends/files.ts';
import { invalidReply } from '../outgoing/faults.ts';
import { CUSTOM_BACKEND, objectIn } from './backend.ts';

const TYPES = ['file', 'dir', 'symlink', 'other'] as const;
const MAX_PATH = 4096;

/** The file at the normalised `path`. Throws `provider_error` for an invalid description or another file. */
export function factsOf(path: string, value: unknown): FileInfo {
  return requireRequested(fileFacts(value), (found) => found === path);
}

/** A file below the folder `path`. Throws like `factsOf`. */
export function factsBelow(path: string, value: unknown): FileInfo {
  const start = path === '/' ? path : `${path}/`;
  const isBelow = (found: string) =>
    found.startsWith(start) && found !== start && posix.normalize(found) === found;
  return requireRequested(fileFacts(value), isBelow);
}

function requireRequested(facts: FileInfo, isRequested: (path: string) => boolean): FileInfo {
  if (isRequested(facts.path)) return facts;
  throw invalidReply(CUSTOM_BACKEND, 'described another file');
}

function fileFacts(value: unknown): FileInfo {
  const { path, type: typeName, size, mode, mod_time, symlink_target } = objectIn(value);
  const type = TYPES.find((each) => each === typeName);
  if (typeof path !== 'string' || !path.startsWith('/') || path.length > MAX_PATH || !type)
    throw invalidReply(CUSTOM_BACKEND, 'sent a file without a path or a type');
  const valid = typeof mode === 'string' && /^[0-7]{3,4}$/.test(mode) ? mode : type === 'dir' ? '755' : '644';
  const modified = typeof mod_time === 'string' ? Date.parse(mod_time) : Number.NaN;
  return fileInfo({ path, type, mode: valid }, { size, modified, target: symlink_target });
}
