// What a folder holds, path by path, so that two can be compared. Paths are latin1.
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface TreeFact {
  type: 'file' | 'folder' | 'link' | 'other';
  mode: number;
  uid: number;
  gid: number;
  mtimeNs: bigint;
  /** Hash of a file's content, target of a link. */
  content: string;
  /** The first path with the same inode. */
  first: string;
}

/** Facts of everything below `root`, by path. */
export function treeFacts(root: string): Map<string, TreeFact> {
  const found = new Map<string, TreeFact>();
  const inodes = new Map<bigint, string>();
  const visit = (path: string) => {
    const here = Buffer.concat([Buffer.from(root), Buffer.from(`/${path}`, 'latin1')]);
    for (const entry of readdirSync(here, { encoding: 'buffer' })) {
      const name = entry.toString('latin1');
      const child = path === '' ? name : `${path}/${name}`;
      const fact = factOf(Buffer.concat([here, Buffer.from('/'), entry]), child, inodes);
      found.set(child, fact);
      if (fact.type === 'folder') visit(child);
    }
  };
  visit('');
  return found;
}

function factOf(path: Buffer, name: string, inodes: Map<bigint, string>): TreeFact {
  const facts = lstatSync(path, { bigint: true });
  const type = facts.isFile()
    ? 'file'
    : facts.isDirectory()
      ? 'folder'
      : facts.isSymbolicLink()
        ? 'link'
        : 'other';
  const first = inodes.get(facts.ino) ?? name;
  inodes.set(facts.ino, first);
  return {
    type,
    mode: Number(facts.mode & 0o7777n),
    uid: Number(facts.uid),
    gid: Number(facts.gid),
    mtimeNs: facts.mtimeNs,
    content:
      type === 'file'
        ? createHash('sha256').update(readFileSync(path)).digest('hex')
        : type === 'link'
          ? readlinkSync(path, { encoding: 'latin1' })
          : '',
    first,
  };
}
