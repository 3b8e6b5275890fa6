// What `umoci unpack` makes of layers, and how it differs from a tree of ours.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../temporary.ts';
import { OWN_PATHS } from './merger.ts';
import { type TreeFact, treeFacts } from './tree-facts.ts';
import type { LayerRecord } from './unpacker.ts';

const MEMORY = '/dev/shm';

const umoci = (...args: string[]) => execFileSync('umoci', args, { stdio: ['ignore', 'ignore', 'inherit'] });

/** umoci takes minutes for a distribution on a disk, and seconds in memory. */
function memoryFolder(): string {
  if (!existsSync(MEMORY)) return temporaryFolder();
  const folder = mkdtempSync(join(MEMORY, 'svc-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A layout, as a folder, of an image of these layers; its tag is `image`. */
export function umociLayout(archives: readonly Buffer[]): string {
  const folder = memoryFolder();
  const layout = join(folder, 'layout');
  const image = `${layout}:image`;
  mkdirSync(join(folder, 'parts'));
  umoci('init', '--layout', layout);
  umoci('new', '--image', image);
  for (const [at, archive] of archives.entries()) {
    writeFileSync(join(folder, 'parts', `${at}`), archive);
    umoci('raw', 'add-layer', '--image', image, join(folder, 'parts', `${at}`));
  }
  return layout;
}

/** `root` is the folder of its files. */
export function umociUnpack(archives: readonly Buffer[]): { layout: string; root: string } {
  const layout = umociLayout(archives);
  umoci('unpack', '--image', `${layout}:image`, join(layout, '../bundle'));
  return { layout, root: join(layout, '../bundle/rootfs') };
}

/** Capabilities of files below `root`, by path, in hex. Paths are latin1. */
export function capabilitiesBelow(root: string): Map<string, string> {
  const text = execFileSync('/usr/bin/python3', ['-c', LIST_CAPABILITIES, root], { encoding: 'utf8' });
  return new Map(Object.entries(JSON.parse(text) as Record<string, string>));
}

const LIST_CAPABILITIES = `
import json, os, sys
root, found = os.fsencode(sys.argv[1]), {}
for folder, _, names in os.walk(root):
    for name in names:
        path = os.path.join(folder, name)
        try:
            value = os.getxattr(path, 'security.capability', follow_symlinks=False)
        except OSError:
            continue
        found[path[len(root) + 1:].decode('latin1')] = value.hex()
print(json.dumps(found))
`;

/** Capabilities that the records of a tree have, in the same form: of files that it still has. */
export function recordedCapabilities(
  records: readonly (readonly LayerRecord[])[],
  tree: ReadonlyMap<string, TreeFact>,
): Map<string, string> {
  const found = new Map<string, string>();
  for (const { path, attributes } of records.flat()) {
    const value = attributes['security.capability'];
    if (value === undefined || !tree.has(path)) found.delete(path);
    else found.set(path, Buffer.from(value, 'latin1').toString('hex'));
  }
  return found;
}

interface ComparedTree {
  path: string;
  records: readonly (readonly LayerRecord[])[];
}

/** Puts the records of a layer over those of lower ones; a hard link gets the facts of its file, which is in the same layer. */
function putInodes(inodes: Map<string, LayerRecord>, layer: readonly LayerRecord[]): void {
  const made = layer.filter(({ type }) => type !== 'whiteout' && type !== 'opaque');
  const own = new Map(made.map((record) => [record.path, record]));
  for (const [path, record] of own)
    inodes.set(path, (record.hardLink ? own.get(record.target) : undefined) ?? record);
}

/** What differs, path by path; what the store forgets is taken from the records, of which the last counts. */
export function differences({ path, records }: ComparedTree, theirs: Map<string, TreeFact>): string[] {
  const ours = treeFacts(path);
  const inodes = new Map<string, LayerRecord>();
  for (const layer of records) putInodes(inodes, layer);
  const found: string[] = [];
  for (const name of new Set([...ours.keys(), ...theirs.keys()])) {
    if (OWN_PATHS.includes(name)) continue;
    const [mine, other] = [ours.get(name), theirs.get(name)];
    // A record has the path of its own layer, in which /bin may be a folder that no entry names.
    const record = inodes.get(name) ?? inodes.get(name.replace(/^usr\//, ''));
    // Devices are left out, and their folders made by the host.
    if (!mine && other?.type === 'other' && ['characters', 'blocks', 'pipe'].includes(record?.type ?? '')) {
      if (record && owner(record) !== owner(other))
        found.push(`${name}: ${owner(record)} for ${owner(other)}`);
      continue;
    }
    if (!mine || !other || !record) {
      found.push(`${name}: ${mine ? 'is here' : 'is missing'}`);
      continue;
    }
    const says = [mine.type, mine.content, mine.first, record.implied ? '' : owner(record)];
    const means = [other.type, other.content, other.first, record.implied ? '' : owner(other)];
    // Links have no mode.
    if (mine.type === 'link')
      [says[3], means[3]] = [`${record.uid}:${record.gid}`, `${other.uid}:${other.gid}`];
    if (mine.type === 'file') {
      says.push(`${mine.mtimeNs}`);
      means.push(`${other.mtimeNs}`);
    }
    if (says.join() !== means.join()) found.push(`${name}: ${says.join()} for ${means.join()}`);
  }
  return found;
}

const owner = ({ mode, uid, gid }: { mode: number; uid: number; gid: number }) =>
  `${mode.toString(8)} ${uid}:${gid}`;
