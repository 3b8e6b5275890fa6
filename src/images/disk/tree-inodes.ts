// The inodes of an image as its archives describe them. Names and content are in the tree of the store; owners, modes, times and
// capabilities are in the records of the layers, and the merge reports which record each inode of the tree comes from.
import { type BigIntStats, createReadStream } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '../../domain/errors.ts';
import { type LayerFile, layerEntries, layerFiles } from '../layer-entries.ts';
import { Contents } from './contents.ts';
import { type Folder, type Inode, type TreeNode, UNSAYABLE } from './inode-tree.ts';

const AT_ONCE = 32;
/** The event loop has a turn after as many. */
const TURN = 5000;
const MOST_ENTRIES = 1_000_000;
const NANOSECONDS = 1_000_000_000n;
const CAPABILITY = 'security.capability';
const OWN_FOLDER: Inode = { mode: 0o755, uid: 0, gid: 0, mtime: 0 };
const OWN_FILE: Inode = { ...OWN_FOLDER, mode: 0o644 };

export interface MergedTree {
  /** The tree, which nobody else uses. */
  root: string;
  /** What the merge reported (agent/src/image/origin.h). */
  origins: string;
  /** Folders of its layers, the lowest first. */
  layers: readonly string[];
}

export interface TreeInodes {
  root: Folder;
  contents: Contents;
  /** Names with line breaks, which were removed from the tree. */
  dropped: number;
}

/** Throws `bad_request` for too many entries, `provider_error` for damaged records, system errors, and the signal's reason. */
export async function treeInodes(tree: MergedTree, signal: AbortSignal): Promise<TreeInodes> {
  const { inodes, top } = await inodesOf(tree, signal);
  const root: Folder = { ...(top ?? OWN_FOLDER), type: 'folder', children: new Map() };
  const walk: Walk = { inodes, nodes: new Map(), contents: new Contents(), dropped: 0, signal };
  await visit(walk, Buffer.from(tree.root), root);
  return { root, contents: walk.contents, dropped: walk.dropped };
}

type Origins = Map<number, { layer: number; path: string }>;

async function inodesOf({ origins, layers }: MergedTree, signal: AbortSignal) {
  const known = await readOrigins(origins);
  const inodes = new Map<number, Inode>();
  let top: Inode | undefined;
  for (const [layer, folder] of layers.entries()) {
    const files = await layerFiles(join(folder, 'entries'));
    const named = files.get('');
    if (named) top = inodeOf(named);
    let turn = 0;
    for (const [number, origin] of known) {
      if (++turn % TURN === 0) await setImmediate(undefined, { signal });
      const file = origin.layer === layer ? files.get(origin.path) : undefined;
      if (file) inodes.set(number, inodeOf(file));
    }
  }
  return { inodes, top };
}

/** The last record of an inode counts: a removed folder leaves its number to another. */
async function readOrigins(file: string): Promise<Origins> {
  const known: Origins = new Map();
  for await (const { size: number, uid: layer, path, isImplied } of layerEntries(createReadStream(file))) {
    if (isImplied) known.delete(number);
    else known.set(number, { layer, path });
  }
  return known;
}

function inodeOf({ mode, uid, gid, mtimeNs, attributes }: LayerFile): Inode {
  const capability = attributes.find(([name]) => name === CAPABILITY)?.[1];
  const mtime = Number(mtimeNs / NANOSECONDS);
  return {
    mode,
    uid,
    gid,
    mtime,
    capability: capability === undefined ? undefined : Buffer.from(capability, 'latin1'),
  };
}

interface Walk extends Omit<TreeInodes, 'root'> {
  inodes: ReadonlyMap<number, Inode>;
  /** Files and links by inode: one with several names is one node. */
  nodes: Map<number, TreeNode>;
  signal: AbortSignal;
}

async function visit(walk: Walk, folder: Buffer, node: Folder): Promise<void> {
  const names = await readdir(folder, { encoding: 'buffer' });
  walk.contents.names(names.map(({ length }) => length));
  const below: [Buffer, Folder][] = [];
  for (let at = 0; at < names.length; at += AT_ONCE) {
    walk.signal.throwIfAborted();
    const part = names.slice(at, at + AT_ONCE);
    const paths = part.map((name) => Buffer.concat([folder, Buffer.from('/'), name]));
    const facts = await Promise.all(paths.map((path) => lstat(path, { bigint: true })));
    for (const [n, name] of part.entries()) {
      const path = paths[n] as Buffer;
      const text = name.toString('latin1');
      if (UNSAYABLE.test(text)) {
        await rm(path, { recursive: true });
        walk.dropped++;
        continue;
      }
      const child = nodeOf(walk, facts[n] as BigIntStats);
      node.children.set(text, child);
      if (child.type === 'folder') below.push([path, child]);
    }
  }
  for (const [path, child] of below) await visit(walk, path, child);
}

function nodeOf({ inodes, nodes, contents }: Walk, facts: BigIntStats): TreeNode {
  // As agent/src/image/origin.c cuts it.
  const number = Number(BigInt.asUintN(53, facts.ino));
  const known = nodes.get(number);
  if (known) return known;
  if (contents.inodes >= MOST_ENTRIES) throw tooMany();
  const size = Number(facts.size);
  const found = inodes.get(number);
  if (facts.isDirectory()) {
    contents.folder();
    return { ...(found ?? OWN_FOLDER), type: 'folder', children: new Map() };
  }
  if (facts.isFile()) contents.file(size);
  else contents.link(size);
  const inode = found ?? OWN_FILE;
  const node: TreeNode = facts.isFile() ? { ...inode, type: 'file' } : { ...inode, type: 'link', target: '' };
  nodes.set(number, node);
  return node;
}

function tooMany(): ServiceError {
  return new ServiceError('bad_request', 'The image has more than a million entries.', {
    remedy: 'Use a smaller image for virtual machines.',
  });
}
