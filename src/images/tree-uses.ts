// Who uses a tree of the image store. Each user is a file that names its run folder. A tree with
// users is neither removed nor pruned.
import { readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../domain/errors.ts';
import { storePaths } from './store-paths.ts';
import { entriesOf, exists } from './store-records.ts';

const USES = 'uses';

/**
 * Notes that the runtime with this run folder uses a tree, so that nobody removes it. The note counts as long as the run
 * folder exists, which is not after a boot. Throws `not_found` when the tree was removed meanwhile.
 */
export async function useTree(tree: string, user: string, runFolder: string): Promise<void> {
  const uses = join(tree, '..', USES);
  try {
    await writeFile(join(uses, user), runFolder, { mode: 0o644 }).catch(unlessReadOnly);
    await stat(tree);
  } catch (cause) {
    throw new ServiceError('not_found', 'The image was removed while a sandbox started on it.', { cause });
  }
}

/** Nobody removes images from such a store here, and notes of others cannot be kept. */
function unlessReadOnly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EROFS') throw error;
}

/** Idempotent; also when the tree was removed, and in a read-only store, which has no note. */
export async function releaseTree(tree: string, user: string): Promise<void> {
  await unlink(join(tree, '..', USES, user)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') unlessReadOnly(error);
  });
}

/** The same where the tree is not known. */
export async function releaseEverywhere(root: string, user: string): Promise<void> {
  const { trees } = storePaths(root);
  for (const chain of await entriesOf(trees)) await releaseTree(join(trees, chain, 'fs'), user);
}

/** Removes the notes of users that no longer exist. */
export async function sweepUses(root: string, isGone: (user: string) => boolean): Promise<void> {
  const { trees } = storePaths(root);
  for (const chain of await entriesOf(trees))
    for (const user of await entriesOf(join(trees, chain, USES)))
      if (isGone(user)) await releaseTree(join(trees, chain, 'fs'), user);
}

/** The users of a tree, which lies in `folder`, whose run folders exist. */
export async function usersOf(folder: string): Promise<string[]> {
  const users: string[] = [];
  for (const user of await entriesOf(join(folder, USES))) {
    const run = await readFile(join(folder, USES, user), 'utf8').catch(() => '');
    if (run !== '' && (await exists(run))) users.push(user);
  }
  return users;
}
