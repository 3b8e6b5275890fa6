// The note in the image store that a runtime uses a tree: made before the tree is mounted, removed after its processes ended.
import { mkdir } from 'node:fs/promises';
import { releaseEverywhere, releaseTree, useTree } from '../../images/tree-uses.ts';
import { runFolder } from '../local/instance-folders.ts';
import { userOf } from '../local/use-names.ts';
import type { ChosenImage } from './image.ts';
import type { RuntimeRecord } from './record.ts';
import type { UserspaceState } from './state.ts';

/** Makes the run folder too: a note counts only while that exists. Throws `not_found` when the image was removed meanwhile. */
export async function useImage({ folders }: UserspaceState, name: string, image: ChosenImage): Promise<void> {
  if (!image.stored) return;
  const folder = runFolder(folders, name);
  await mkdir(folder, { mode: 0o711, recursive: true });
  await useTree(image.stored.tree, userOf(folders, name), folder);
}

/** A runtime without a record may use any tree. Idempotent. */
export async function releaseImage(
  { folders, imageStore, slowly }: UserspaceState,
  name: string,
  record: RuntimeRecord | undefined,
): Promise<void> {
  const user = userOf(folders, name);
  if (record?.tree !== undefined) await releaseTree(record.tree, user);
  else if (!record) await slowly(() => releaseEverywhere(imageStore.path, user));
}
