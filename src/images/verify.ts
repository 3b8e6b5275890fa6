// Compares images of the store with the records of their layers: every file, folder and link. Trees are compared with fresh
// ones, which the same program makes of the same layers.
import type { BigIntStats } from 'node:fs';
import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { completeImageName, shortImageName } from '../domain/image-name.ts';
import type { ImageDifference, VerifiedImage } from '../schema/image-report.ts';
import { noStoredImage } from './image-faults.ts';
import { listStored, type StoreDeps } from './image-store.ts';
import { type LayerFile, layerFiles } from './layer-entries.ts';
import { mergeTree } from './put-image.ts';
import { withStoreLock, withTemporary } from './store-lock.ts';
import { layerFolder, storePaths, treeFolder } from './store-paths.ts';
import { readImage, type StoredImage } from './store-records.ts';

/** Enough to see what happened. */
const MOST_DIFFERENCES = 1000;
const AT_ONCE = 32;
const PIECE_BYTES = 256 * 1024;

export interface VerifyRequest {
  /** All images without. */
  name?: string | undefined;
  signal: AbortSignal;
  /** Before an image is compared. */
  onImage?(name: string, number: number, count: number): void;
}

/** Throws `not_found` and `bad_request` for the name, `unavailable` when the store cannot be written, and the signal's reason. */
export async function verifyStored(deps: StoreDeps, request: VerifyRequest): Promise<VerifiedImage[]> {
  const images = await selected(deps, request.name);
  const verified: VerifiedImage[] = [];
  const layers = new Map<string, Findings>();
  for (const [at, { names, image }] of images.entries()) {
    request.onImage?.(names[0] as string, at + 1, images.length);
    const result = await verifyImage(deps, image, layers, request.signal);
    // A removal meanwhile is not damage.
    if (await readImage(storePaths(deps.root), image.digest))
      for (const name of names)
        verified.push({ name: shortImageName(name), digest: image.digest, ...result });
  }
  return verified;
}

interface Selected {
  names: string[];
  image: StoredImage;
}

async function selected({ root }: StoreDeps, name: string | undefined): Promise<Selected[]> {
  const complete = name === undefined ? undefined : completeImageName(name);
  const all = await listStored(root);
  const wanted = all.find((listed) => listed.name === complete);
  if (name !== undefined && !wanted) throw noStoredImage(name);
  const images = new Map<string, Selected>();
  for (const { name: own, digest, image } of wanted ? [wanted] : all) {
    const known = images.get(digest);
    if (known) known.names.push(own);
    else images.set(digest, { names: [own], image });
  }
  return [...images.values()];
}

/** What a comparison found. */
class Findings {
  checked = 0;
  readonly differences: ImageDifference[] = [];

  add(path: string, problem: string, layer?: string): void {
    const text = Buffer.from(path, 'latin1').toString('utf8');
    if (this.differences.length < MOST_DIFFERENCES)
      this.differences.push({ ...(layer !== undefined && { layer }), path: text, problem });
  }

  take({ checked, differences }: Findings): void {
    this.checked += checked;
    this.differences.push(...differences.slice(0, MOST_DIFFERENCES - this.differences.length));
  }
}

async function verifyImage(
  deps: StoreDeps,
  image: StoredImage,
  known: Map<string, Findings>,
  signal: AbortSignal,
): Promise<Pick<VerifiedImage, 'checked' | 'differences'>> {
  const all = new Findings();
  for (const diffId of image.layers) {
    const layer = known.get(diffId) ?? (await verifyLayer(deps, diffId, signal));
    known.set(diffId, layer);
    all.take(layer);
  }
  // A tree of damaged layers cannot be made.
  if (all.differences.length === 0) all.take(await verifyTree(deps, image, signal));
  return { checked: all.checked, differences: all.differences };
}

async function verifyLayer(deps: StoreDeps, diffId: string, signal: AbortSignal): Promise<Findings> {
  const found = new Findings();
  const folder = layerFolder(storePaths(deps.root), diffId);
  try {
    const expected = await layerFiles(join(folder, 'entries'));
    const present = await filesBelow(join(folder, 'fs'), signal);
    expected.delete('');
    const { uid } = await lstat(join(folder, 'fs'));
    const inodes = new Map<LayerFile, bigint>();
    for (const [path, file] of expected) {
      signal.throwIfAborted();
      const there = present.get(path);
      const problem = there ? layerProblem(file, there, uid) : 'missing';
      if (problem !== undefined) found.add(path, problem, diffId);
      else if (there && isOtherInode(inodes, file, there)) found.add(path, 'no longer a hard link', diffId);
    }
    for (const path of present.keys()) if (!expected.has(path)) found.add(path, 'not in the record', diffId);
    found.checked = expected.size;
  } catch (error) {
    signal.throwIfAborted();
    found.add('', `unreadable: ${(error as Error).message.replaceAll(folder, '')}`, diffId);
  }
  return found;
}

function isOtherInode(inodes: Map<LayerFile, bigint>, file: LayerFile, { facts }: Present): boolean {
  if (file.type === 'folder') return false;
  const first = inodes.get(file) ?? facts.ino;
  inodes.set(file, first);
  return facts.ino !== first;
}

interface Present {
  type: LayerFile['type'] | 'other';
  facts: BigIntStats;
  target: string;
}

/** The unpacker adds rights of the owner, and leaves out set-uid bits (agent/src/image/entry.c). */
const modeOf = ({ type, mode }: LayerFile) =>
  type === 'folder' ? (mode & 0o1777) | 0o700 : (mode & 0o777) | 0o600;

function layerProblem(file: LayerFile, { type, facts, target }: Present, uid: number): string | undefined {
  if (type !== file.type)
    return `${type === 'other' ? 'a special file' : `a ${type}`} instead of a ${file.type}`;
  if (Number(facts.uid) !== uid) return `belongs to uid ${facts.uid} instead of ${uid}`;
  if (type === 'link') return target === file.target ? undefined : 'leads elsewhere';
  const mode = Number(facts.mode & 0o7777n);
  if (mode !== modeOf(file)) return `has mode ${mode.toString(8)} instead of ${modeOf(file).toString(8)}`;
  if (type === 'folder') return undefined;
  if (facts.size !== BigInt(file.size)) return `has ${facts.size} bytes instead of ${file.size}`;
  return facts.mtimeNs === file.mtimeNs ? undefined : 'was modified';
}

/** The keys are paths in latin1. */
async function filesBelow(root: string, signal: AbortSignal): Promise<Map<string, Present>> {
  const found = new Map<string, Present>();
  const folders = [''];
  for (let path = folders.pop(); path !== undefined; path = folders.pop()) {
    signal.throwIfAborted();
    const names = await readdir(pathIn(root, path), { encoding: 'buffer' });
    const below = names.map((name) => `${path}${path === '' ? '' : '/'}${name.toString('latin1')}`);
    for (let at = 0; at < below.length; at += AT_ONCE) {
      const part = below.slice(at, at + AT_ONCE);
      const files = await Promise.all(part.map((each) => presentAt(pathIn(root, each))));
      for (const [n, each] of part.entries()) found.set(each, files[n] as Present);
      folders.push(...part.filter((_, n) => files[n]?.type === 'folder'));
    }
  }
  return found;
}

const pathIn = (root: string, path: string) =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')]);

async function presentAt(path: Buffer): Promise<Present> {
  const facts = await lstat(path, { bigint: true });
  const target = facts.isSymbolicLink() ? await readlink(path, 'latin1') : '';
  return { type: typeOf(facts), facts, target };
}

function typeOf(facts: BigIntStats): Present['type'] {
  if (facts.isFile()) return 'file';
  if (facts.isDirectory()) return 'folder';
  return facts.isSymbolicLink() ? 'link' : 'other';
}

/** Files of a tree are those of its layers, so a fresh tree has the same inodes, apart from the few that are copies. */
async function verifyTree(deps: StoreDeps, image: StoredImage, signal: AbortSignal): Promise<Findings> {
  const paths = storePaths(deps.root);
  const found = new Findings();
  const tree = join(treeFolder(paths, image.chain_id), 'fs');
  const lock = { ...deps, paths };
  await withTemporary(lock, signal, async (folder) => {
    const putting = { ...lock, deps, folder, signal };
    const fresh = await withStoreLock(lock, signal, () => mergeTree(putting, image));
    const [expected, present] = [await filesBelow(join(fresh, 'fs'), signal), await filesBelow(tree, signal)];
    for (const [path, file] of expected) {
      const there = present.get(path);
      const at = { path, tree, fresh: join(fresh, 'fs') };
      const problem = there ? await treeProblem(file, there, at) : 'missing';
      if (problem !== undefined) found.add(path, problem);
    }
    for (const path of present.keys()) if (!expected.has(path)) found.add(path, 'not in the layers');
  });
  return found;
}

async function treeProblem(
  file: Present,
  there: Present,
  { path, tree, fresh }: { path: string; tree: string; fresh: string },
): Promise<string | undefined> {
  if (file.type !== there.type) return `a ${there.type} instead of a ${file.type}`;
  if (file.type !== 'folder' && file.facts.ino === there.facts.ino) return undefined;
  if (file.facts.mode !== there.facts.mode) return 'has another mode';
  if (file.type === 'folder') return undefined;
  const isSame =
    file.target === there.target &&
    file.facts.size === there.facts.size &&
    (file.type === 'link' || (await isSameContent(pathIn(tree, path), pathIn(fresh, path))));
  return isSame ? undefined : 'differs from its layer';
}

/** Copies are few: our own files, and names beyond the most links of a file. */
async function isSameContent(one: Buffer, other: Buffer): Promise<boolean> {
  const [first, second] = [await open(one, 'r'), await open(other, 'r')];
  try {
    const [left, right] = [Buffer.alloc(PIECE_BYTES), Buffer.alloc(PIECE_BYTES)];
    for (;;) {
      const [{ bytesRead }, { bytesRead: others }] = [await first.read(left), await second.read(right)];
      if (bytesRead !== others || !left.subarray(0, bytesRead).equals(right.subarray(0, others)))
        return false;
      if (bytesRead === 0) return true;
    }
  } finally {
    await first.close();
    await second.close();
  }
}
