// The note in the image store that a runtime uses an image: made before its disk is opened, removed after its monitor ended.
import { releaseEverywhere, useTree } from '../../images/tree-uses.ts';
import { userOf } from '../local/use-names.ts';
import type { RuntimePaths } from './folders.ts';
import type { ChosenImage } from './image-choice.ts';
import type { MicrovmState } from './state.ts';

/** The run folder is there: a note counts only while it is. Throws `not_found` when the image was removed meanwhile. */
export async function useImage(
  { folders }: Pick<MicrovmState, 'folders'>,
  { name, paths }: { name: string; paths: Pick<RuntimePaths, 'folder'> },
  { stored }: ChosenImage,
): Promise<void> {
  if (stored) await useTree(stored.tree, userOf(folders, name), paths.folder);
}

/** Idempotent. */
export async function releaseImage(
  { folders, imageStore, slowly }: Pick<MicrovmState, 'folders' | 'imageStore' | 'slowly'>,
  name: string,
): Promise<void> {
  await slowly(() => releaseEverywhere(imageStore.path, userOf(folders, name)));
}
