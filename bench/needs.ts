// What a row needs of this machine. A row that cannot be measured here says why; it is neither passed nor failed.
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Why it cannot be measured here, with the package at `root`; undefined when it can. */
export type Need = (root: string) => string | undefined;

/** Programs on PATH. */
export function programs(...names: readonly string[]): Need {
  return () => {
    const missing = names.filter((name) => !isOnPath(name));
    return missing.length === 0 ? undefined : `not found on PATH: ${missing.join(', ')}`;
  };
}

/** The container rows start an engine of their own, whose image is made by a script of the source. */
export const ownEngine: Need = (root) => {
  if (process.getuid?.() !== 0) return 'an engine of its own needs root';
  if (!existsSync(join(root, 'scripts/test-images.sh')))
    return 'its image is made by the source, not by the package';
  return programs('dockerd', 'ip', 'unshare', 'bash')(root);
};

function isOnPath(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
