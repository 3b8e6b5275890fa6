// Owners, modes, times and capabilities, as commands for debugfs(8), which writes them into an image whoever runs it.
// mke2fs takes them from the files that it reads, and those can have all of that only where root makes them.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Folder, refused, type TreeNode, UNSAYABLE } from './tree-path.ts';

const TYPE_BITS = { folder: 0o040000, file: 0o100000, link: 0o120000 } as const;
const LATEST = 0xffffffff;
const LONGEST_LINE = 1000;

/** The script, in the bytes of the names. Files that it needs are put into `folder`. */
export async function inodeScript(root: Folder, folder: string): Promise<Buffer> {
  const lines: string[] = [];
  let values = 0;
  const visit = async (node: TreeNode, path: string) => {
    lines.push(...fields(node, quoted(path === '' ? '/' : path)));
    if (node.capability) {
      const value = join(folder, `capability-${values++}`);
      await writeFile(value, node.capability);
      lines.push(`ea_set -f ${quoted(value)} ${quoted(path)} security.capability`);
    }
    if (node.type === 'folder')
      for (const [name, child] of node.children) await visit(child, `${path}/${name}`);
  };
  await visit(root, '');
  return script(lines);
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
  if (UNSAYABLE.test(word)) throw refused('The archive has a line break in a path.');
  return `"${word.replaceAll('"', '""')}"`;
}

/** debugfs takes what is beyond its buffer (BUFSIZ, as small as 1024) for a line of its own. */
function script(lines: readonly string[]): Buffer {
  if (lines.some((line) => line.length > LONGEST_LINE))
    throw refused('There is a path that is too long for an image.');
  return Buffer.from(`${lines.join('\n')}\n`, 'latin1');
}

/** Makes root the owner of these paths. */
export function ownedScript(paths: readonly string[]): Buffer {
  const sayable = paths.filter((path) => !UNSAYABLE.test(path)).map(quoted);
  const lines = sayable.flatMap((path) => [`sif ${path} uid 0`, `sif ${path} gid 0`]);
  return script(lines);
}
