// Entries of folders as E2B shows them: permissions in Go's form, and what a link leads to.
import { posix } from 'node:path';
import type { FileFacts } from '../../../control/api/files.ts';
import type { FileInfo } from '../../../schema/file.ts';
import type { Names } from '../owners.ts';

const MOST_LINKS = 16;
const TYPES = { file: 'FILE_TYPE_FILE', dir: 'FILE_TYPE_DIRECTORY' } as const;
const UNKNOWN = 'FILE_TYPE_UNSPECIFIED';

/** Looks at a path without following a link at its end; undefined where there is nothing. */
export type Look = (path: string) => Promise<FileFacts | undefined>;

/** What an entry is made with. */
export interface Sight {
  look: Look;
  names: Names;
}

/** For a link, type and mode are those of what it leads to. `path` is the path as the client wrote it. */
export async function entryOf(info: FileFacts, { look, names }: Sight, path = info.path): Promise<object> {
  const isSymlink = info.type === 'symlink';
  const target = isSymlink ? await targetOf(info, look) : info;
  return {
    name: info.name,
    type: (target && (TYPES as Record<string, string>)[target.type]) ?? UNKNOWN,
    path,
    size: String(info.size),
    mode: target ? Number.parseInt(target.mode, 8) & 0o777 : 0,
    permissions: permissionsOf(info),
    owner: names.user(info.uid),
    group: names.group(info.gid),
    modifiedTime: info.mod_time,
    ...(Object.keys(info.attributes ?? {}).length > 0 && { metadata: info.attributes }),
    ...(isSymlink && { isSymlink, symlinkTarget: target?.path ?? info.path }),
  };
}

async function targetOf(link: FileFacts, look: Look): Promise<FileFacts | undefined> {
  const found = await followed(link, look);
  return found?.type === 'symlink' ? undefined : found;
}

/** What it leads to; still a link where too many follow one another. */
export async function followed(info: FileFacts | undefined, look: Look): Promise<FileFacts | undefined> {
  let found = info;
  for (let left = MOST_LINKS; left > 0 && found?.type === 'symlink'; left--)
    found = await look(posix.resolve(posix.dirname(found.path), found.symlink_target ?? '.'));
  return found;
}

const BITS = 'rwxrwxrwx';
const LETTERS = { file: '', dir: 'd', symlink: 'L', other: '?' } as const;

function permissionsOf({ type, mode }: FileInfo): string {
  const bits = Number.parseInt(mode, 8);
  const special = [
    [0o4000, 'u'],
    [0o2000, 'g'],
    [0o1000, 't'],
  ] as const;
  const marks = special.map(([bit, letter]) => ((bits & bit) !== 0 ? letter : '')).join('');
  const shown = [...BITS].map((letter, at) => ((bits & (1 << (8 - at))) !== 0 ? letter : '-')).join('');
  return `${LETTERS[type] + marks || '-'}${shown}`;
}

/** Depth first, names in byte order, a folder before what is in it. */
export function inOrder(a: { path: string }, b: { path: string }): number {
  const [x, y] = [a.path.split('/'), b.path.split('/')];
  for (let at = 0; at < Math.min(x.length, y.length); at++) {
    const order = Buffer.compare(Buffer.from(x[at] ?? ''), Buffer.from(y[at] ?? ''));
    if (order !== 0) return order;
  }
  return x.length - y.length;
}
