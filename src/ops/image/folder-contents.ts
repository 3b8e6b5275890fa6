// What a folder holds, counted as a file system of ours will hold it.
import { lstatSync, readdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '../../domain/errors.ts';
import type { Contents } from './file-system.ts';

const BLOCK = 4096;
const MOST_ENTRIES = 1_000_000;
/** The bytes of a directory entry in addition to its name; and the longest link that needs no block. ext4(5) */
const NAME_BYTES = 12;
const SHORT_LINK = 59;

export interface FolderContents extends Contents {
  /** The size of the contents. */
  bytes: number;
  files: number;
  /** Paths from the folder on, latin1, of what belongs to `uid`. */
  owned: string[];
}

interface Walk {
  uid: number;
  seen: Set<string>;
  signal: AbortSignal | undefined;
  found: FolderContents;
}

/** Links are not followed. Throws `bad_request` for more than a million entries, and what reading it throws. */
export async function contentsOf(path: string, uid: number, signal?: AbortSignal): Promise<FolderContents> {
  const found: FolderContents = { inodes: 1, blocks: 1, bytes: 0, files: 0, owned: [] };
  const walk: Walk = { uid, seen: new Set(), signal, found };
  await visitFolder(walk, Buffer.from(path), '');
  return found;
}

async function visitFolder(walk: Walk, folder: Buffer, inside: string): Promise<void> {
  walk.signal?.throwIfAborted();
  // An interruption takes effect between folders.
  await setImmediate();
  const names = readdirSync(folder, { encoding: 'latin1' });
  const bytes = names.reduce((sum, name) => sum + name.length + NAME_BYTES, 2 * NAME_BYTES);
  walk.found.blocks += blocksOf(bytes);
  for (const name of names) {
    const path = Buffer.concat([folder, Buffer.from(`/${name}`, 'latin1')]);
    const at = `${inside}/${name}`;
    if (visit(walk, path, at)) await visitFolder(walk, path, at);
  }
}

/** Whether it is a folder. */
function visit({ uid, seen, found }: Walk, path: Buffer, at: string): boolean {
  const facts = lstatSync(path);
  if (facts.uid === uid) found.owned.push(at);
  if (facts.nlink > 1 && !facts.isDirectory()) {
    const inode = `${facts.dev} ${facts.ino}`;
    if (seen.has(inode)) return false;
    seen.add(inode);
  }
  if (++found.inodes > MOST_ENTRIES)
    throw new ServiceError('bad_request', 'The directory has more than a million entries.', {
      remedy: 'Use the root directory of a guest, not of a machine.',
    });
  if (facts.isSymbolicLink() && facts.size > SHORT_LINK) found.blocks++;
  if (facts.isFile()) {
    found.files++;
    found.bytes += facts.size;
    found.blocks += blocksOf(facts.size);
  }
  return facts.isDirectory();
}

const blocksOf = (bytes: number) => Math.ceil(bytes / BLOCK);
