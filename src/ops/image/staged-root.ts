// A root file system assembled in a folder of this machine, as input for mke2fs. The folder holds only content and
// structure: files and folders belong to the builder and are private, links are made last, and owners, modes and times
// go into the image itself (inode-script.ts). So no archive can reach out of it, and no root is needed. It works
// synchronously, because the files are many and small and the process does nothing else.
import { closeSync, linkSync, mkdirSync, openSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { type Folder, type Inode, type TreeNode, UNSAYABLE } from '../../images/disk/inode-tree.ts';
import { folderAt, namesOf, refused, type TreeLocation } from './tree-path.ts';

const MOST_ENTRIES = 1_000_000;
const LONGEST_TARGET = 4095;
const LONGEST_PATH = 3500;
/** Paths and targets of all entries: they are kept, and a script names each path several times. */
const MOST_TEXT = 256 * 1024 * 1024;
/** ext4 counts them in 16 bits. */
const MOST_NAMES = 60_000;

export class StagedRoot {
  readonly #path: string;
  readonly #root: Folder = { type: 'folder', mode: 0o755, uid: 0, gid: 0, mtime: 0, children: new Map() };
  readonly #names = new Map<TreeNode, number>();
  #entries = 0;
  #text = 0;

  /** `path` is an empty folder, made for this. */
  constructor(path: string) {
    this.#path = path;
  }

  get root(): Folder {
    return this.#root;
  }

  folder(path: string, inode: Inode): void {
    const names = namesOf(path);
    if (names.length === 0) return void Object.assign(this.#root, inode);
    const { place, name } = this.#parentOf(names);
    const before = place.folder.children.get(name);
    if (before?.type === 'folder') return void Object.assign(before, inode);
    this.#clear(place, name);
    Object.assign(this.#makeFolder(place, name), inode);
  }

  /** `content` is written as it comes. */
  async file(path: string, inode: Inode, content: AsyncIterable<Buffer>): Promise<void> {
    const { place, name } = this.#vacant(path);
    const file = openSync(this.#here([...place.path, name]), 'wx', 0o600);
    try {
      for await (const chunk of content) writeAll(file, chunk);
    } finally {
      closeSync(file);
    }
    this.#put(place, name, { ...inode, type: 'file' });
  }

  link(path: string, inode: Inode, target: string): void {
    if (target === '' || target.length > LONGEST_TARGET || target.includes('\0'))
      throw refused('The archive has a link that leads nowhere.');
    const { place, name } = this.#vacant(path);
    this.#put(place, name, { ...inode, type: 'link', target });
  }

  /** Another name for a file, or a link, that came before. */
  hardLink(path: string, to: string): void {
    const target = this.#parentOf(namesOf(to));
    const node = target.place.folder.children.get(target.name);
    if (node === undefined || node.type === 'folder')
      throw refused('The archive has a link to a file that is not in it.');
    const { place, name } = this.#parentOf(namesOf(path));
    const before = place.folder.children.get(name);
    if (before === node) return;
    if (before?.type === 'folder') throw refused('The archive has a file where another entry has a folder.');
    const names = (this.#names.get(node) ?? 1) + 1;
    if (names > MOST_NAMES) throw refused('The archive has a file with more names than a file can have.');
    this.#names.set(node, names);
    this.#clear(place, name);
    if (node.type === 'file')
      linkSync(this.#here([...target.place.path, target.name]), this.#here([...place.path, name]));
    this.#put(place, name, node);
  }

  /** Makes the symbolic links: nothing may be added after it. */
  finish(): void {
    this.#makeLinks(this.#root, []);
  }

  #makeLinks(folder: Folder, path: readonly string[]): void {
    for (const [name, node] of folder.children) {
      const at = [...path, name];
      if (node.type === 'folder') this.#makeLinks(node, at);
      if (node.type === 'link') symlinkSync(Buffer.from(node.target, 'latin1'), this.#here(at));
    }
  }

  #parentOf(names: readonly string[]): { place: TreeLocation; name: string } {
    const name = names.at(-1);
    if (name === undefined) throw refused('The root of the archive is a file instead of a folder.');
    const make = (parent: TreeLocation, missing: string) => this.#makeFolder(parent, missing);
    return { place: folderAt(this.#root, names.slice(0, -1), make), name };
  }

  /** What has that name goes: the last entry of a name counts. */
  #vacant(path: string): { place: TreeLocation; name: string } {
    const found = this.#parentOf(namesOf(path));
    this.#clear(found.place, found.name);
    return found;
  }

  #clear(place: TreeLocation, name: string): void {
    const node = place.folder.children.get(name);
    if (node === undefined) return;
    if (node.type !== 'link') rmSync(this.#here([...place.path, name]), { recursive: true });
    place.folder.children.delete(name);
  }

  #makeFolder(place: TreeLocation, name: string): Folder {
    mkdirSync(this.#here([...place.path, name]), { mode: 0o700 });
    const node: Folder = { type: 'folder', mode: 0o755, uid: 0, gid: 0, mtime: 0, children: new Map() };
    this.#put(place, name, node);
    return node;
  }

  /** Here comes every name, also one that a link's target says: a line break would end a line of inode-script.ts. */
  #put(place: TreeLocation, name: string, node: TreeNode): void {
    if (UNSAYABLE.test(name)) throw refused('The archive has a folder with a line break in its name.');
    if (++this.#entries > MOST_ENTRIES) throw refused('The archive has more than a million entries.');
    this.#text += place.path.join('/').length + name.length + (node.type === 'link' ? node.target.length : 0);
    if (this.#text > MOST_TEXT) throw refused('The archive has paths that are too long in all.');
    place.folder.children.set(name, node);
  }

  #here(names: readonly string[]): Buffer {
    const inside = Buffer.from(names.map((name) => `/${name}`).join(''), 'latin1');
    if (inside.length > LONGEST_PATH) throw refused('The archive has a path that is too long.');
    return Buffer.concat([Buffer.from(this.#path), inside]);
  }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}
