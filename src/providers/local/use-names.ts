// Names of runtimes in the notes of the image store: the instance, a dot, and the name in the run folder.
import type { InstanceFolders } from './instance-folders.ts';

export const userOf = ({ short }: InstanceFolders, name: string) => `${short}.${name}`;

/** The runtime of this instance that made the note; undefined for another instance's. */
export function runtimeOf({ short }: InstanceFolders, user: string): string | undefined {
  return user.startsWith(`${short}.`) ? user.slice(short.length + 1) : undefined;
}
