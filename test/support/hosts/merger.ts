// Layers unpacked and merged into a tree by `svc-agent unpack --merge`, in a store of the test.
import { chownSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { type LayerRecord, layerRecords, openUnpacker, type Unpacker, type UnpackUser } from './unpacker.ts';

export interface MergedTree {
  /** Path of the tree's folder. */
  path: string;
  unpacker: Unpacker;
  /** Those of each layer, the lowest first. */
  records: LayerRecord[][];
}

/** What every tree has, whatever its layers hold. */
export const OWN_PATHS = [
  ...['proc', 'dev', 'sys', 'tmp', 'run', 'workspace', '.svc', 'etc'],
  ...['etc/hosts', 'etc/hostname', 'etc/resolv.conf'],
];

/** Throws with the program's words when it fails. */
export async function mergeLayers(user: UnpackUser, archives: readonly Buffer[]): Promise<MergedTree> {
  const unpacker = openUnpacker(user);
  const own = (path: string) => {
    mkdirSync(join(unpacker.target, path));
    if (process.getuid?.() === 0) chownSync(join(unpacker.target, path), user.owner, user.owner);
    return join(unpacker.target, path);
  };
  const records: LayerRecord[][] = [];
  const limits = ['--max-bytes', `${2 ** 32}`, '--max-entries', '1000000'];
  for (const [at, archive] of archives.entries()) {
    own(`layer${at}`);
    const target = own(`layer${at}/fs`);
    check(await unpacker.run(archive, limits, { target }));
    records.push(layerRecords(unpacker.records));
    renameSync(unpacker.records, join(unpacker.target, `layer${at}`, 'entries'));
  }
  const path = own('tree');
  const layers = archives.map((_, at) => `layer${at}`);
  check(await unpacker.run(Buffer.alloc(0), [...limits, '--merge', 'tree', ...layers]));
  return { path, unpacker, records };
}

function check({ code, stderr }: { code: number | null; stderr: string }): void {
  if (code !== 0 || stderr !== '') throw new Error(`svc-agent unpack: ${code} ${stderr}`);
}
