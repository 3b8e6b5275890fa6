// What a folder holds, counted as a file system of ours will hold it.
import { lstatSync, readdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '../../domain/errors.ts';
import { Contents } from '../../images/disk/contents.ts';

const MOST_ENTRIES = 1_000_000;

export interface FolderContents {
  contents: Contents;
  /** Paths from the folder on, latin1, of what belongs to `uid`. */
  owned: string[];
}

interface Walk extends FolderContents {
  uid: number;
  seen: Set<string>;
  signal: AbortSignal | undefined;
}

/** Links are not followed. Throws `bad_request` for more than a million entries, and what reading it throws. */
export async function contentsOf(path: string, uid: number, signal?: AbortSignal): Promise<FolderContents> {
  const walk: Walk = { uid, seen: new Set(), signal, contents: new Contents(), owned: [] };
  await visitFolder(walk, Buffer.from(path), '');
  return walk;
}

async function visitFolder(walk: Walk, folder: Buffer, inside: string): Promise<void> {
  walk.signal?.throwIfAborted();
  // An interruption takes effect between folders.
  await setImmediate();
  const names = readdirSync(folder, { encoding: 'latin1' });
  walk.contents.names(names.map((name) => name.length));
  for (const name of names) {
    const path = Buffer.concat([folder, Buffer.from(`/${name}`, 'latin1')]);
    const at = `${inside}/${name}`;
    if (visit(walk, path, at)) await visitFolder(walk, path, at);
  }
}

/** Whether it is a folder. */
function visit({ uid, seen, contents, owned }: Walk, path: Buffer, at: string): boolean {
  const facts = lstatSync(path);
  if (facts.uid === uid) owned.push(at);
  if (facts.nlink > 1 && !facts.isDirectory()) {
    const inode = `${facts.dev} ${facts.ino}`;
    if (seen.has(inode)) return false;
    seen.add(inode);
  }
  if (contents.inodes >= MOST_ENTRIES)
    throw new ServiceError('bad_request', 'The directory has more than a million entries.', {
      remedy: 'Use the root directory of a guest, not of a machine.',
    });
  if (facts.isFile()) contents.file(facts.size);
  else if (facts.isSymbolicLink()) contents.link(facts.size);
  else contents.folder();
  return facts.isDirectory();
}
