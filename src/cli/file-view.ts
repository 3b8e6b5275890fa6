// Files of a sandbox as text for people.
import type { FileInfo } from '../schema/file.ts';
import { type Column, facts, table } from './render.ts';

const LETTERS = { file: '-', dir: 'd', symlink: 'l', other: '?' } as const;
/** Special bits with their position and letter; see chmod(1). */
const SPECIAL = [
  [0o4000, 3, 's'],
  [0o2000, 6, 's'],
  [0o1000, 9, 't'],
] as const;

/** `drwxr-xr-x`. */
export function modeText({ type, mode }: Pick<FileInfo, 'type' | 'mode'>): string {
  const bits = Number.parseInt(mode, 8);
  const letters = [
    LETTERS[type],
    ...[...'rwxrwxrwx'].map((letter, at) => (bits & (0o400 >> at) ? letter : '-')),
  ];
  for (const [bit, at, letter] of SPECIAL)
    if (bits & bit) letters[at] = letters[at] === 'x' ? letter : letter.toUpperCase();
  return letters.join('');
}

const columns = (folder: string): Column<FileInfo>[] => [
  { title: 'mode', value: modeText },
  { title: 'size', value: ({ size }) => size, align: 'right' },
  { title: 'modified', value: ({ mod_time }) => mod_time.replace(/\.\d+Z$/, 'Z') },
  { title: 'name', value: (file) => nameIn(folder, file) },
];

/** Names are relative to `folder`. */
export function fileTable(files: readonly FileInfo[], folder: string): string {
  return table(files, columns(folder), 'Empty.');
}

function nameIn(folder: string, { path, type, symlink_target }: FileInfo): string {
  const prefix = folder.endsWith('/') ? folder : `${folder}/`;
  const name = path.startsWith(prefix) ? path.slice(prefix.length) : path;
  return type === 'symlink' ? `${name} -> ${symlink_target ?? ''}` : name;
}

export function fileFacts(file: FileInfo): string {
  return facts([
    ['path', file.path],
    ['type', file.type],
    ['size', file.size],
    ['mode', `${file.mode} ${modeText(file)}`],
    ['modified', file.mod_time],
    ['target', file.symlink_target],
  ]);
}
