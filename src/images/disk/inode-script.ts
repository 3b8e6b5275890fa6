// Owners, modes, times and capabilities, as commands for debugfs(8), which writes them into an image whoever runs it.
// mke2fs takes them from the files that it reads, and those can have all of that only where root makes them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { type Folder, type TreeNode, UNSAYABLE } from './inode-tree.ts';

const TYPE_BITS = { folder: 0o040000, file: 0o100000, link: 0o120000 } as const;
const LATEST = 0xffffffff;
const LONGEST_LINE = 1000;
const PIECE_LINES = 1000;

/**
 * The script, in the bytes of the names, piece by piece: for a million files it is longer than a string can be. Files
 * that it needs are put into `folder`. Throws `bad_request`, while it is read, for names that a script cannot express.
 */
export function inodeScript(root: Folder, folder: string): Generator<Buffer> {
  let values = 0;
  function* visit(node: TreeNode, path: string): Generator<string> {
    yield* fields(node, quoted(path === '' ? '/' : path));
    if (node.capability) {
      const value = join(folder, `capability-${values++}`);
      writeFileSync(value, node.capability);
      yield `ea_set -f ${quoted(value)} ${quoted(path)} security.capability`;
    }
    if (node.type === 'folder')
      for (const [name, child] of node.children) yield* visit(child, `${path}/${name}`);
  }
  return script(visit(root, ''));
}

function fields(node: TreeNode, path: string): string[] {
  const mode = TYPE_BITS[node.type] | (node.type === 'link' ? 0o777 : node.mode);
  const mtime = Math.min(Math.max(0, node.mtime), LATEST);
  return [
    `sif ${path} mode 0${mode.toString(8)}`,
    `sif ${path} uid ${node.uid}`,
    `sif ${path} gid ${node.gid}`,
    `sif ${path} mtime @${mtime}`,
  ];
}

/** A word of debugfs: in quotes, in which two are one. A line break would begin a command, and one with `!` is the shell's. */
function quoted(word: string): string {
  if (UNSAYABLE.test(word)) throw unsayable('The image has a line break in a path.');
  return `"${word.replaceAll('"', '""')}"`;
}

/** debugfs takes what is beyond its buffer (BUFSIZ, as small as 1024) for a line of its own. */
function* script(lines: Iterable<string>): Generator<Buffer> {
  let piece: string[] = [];
  for (const line of lines) {
    if (line.length > LONGEST_LINE)
      throw unsayable('There is a path that is too long for the disk of an image.');
    piece.push(`${line}\n`);
    if (piece.length < PIECE_LINES) continue;
    yield Buffer.from(piece.join(''), 'latin1');
    piece = [];
  }
  yield Buffer.from(piece.join(''), 'latin1');
}

/** Makes root the owner of these paths. */
export function ownedScript(paths: readonly string[]): Generator<Buffer> {
  const sayable = paths.filter((path) => !UNSAYABLE.test(path)).map(quoted);
  return script(sayable.flatMap((path) => [`sif ${path} uid 0`, `sif ${path} gid 0`]));
}

function unsayable(message: string): ServiceError {
  return new ServiceError('bad_request', message, {
    remedy: 'Give an archive of a root file system, as `docker export` makes it.',
  });
}
