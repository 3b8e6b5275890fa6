// The path of an archive's entry in the root that is made of it. Links of the archive lead within that root, also
// absolute ones: nothing is ever looked up on this machine.
import { ServiceError } from '../../domain/errors.ts';
import type { Folder } from '../../images/disk/inode-tree.ts';

const MOST_HOPS = 40;
/** Names that one path is looked up by, those of its links included: each lookup takes as long. */
const MOST_STEPS = 1000;
const MOST_DEPTH = 200;
const LONGEST_NAME = 255;

export interface TreeLocation {
  folder: Folder;
  /** Names from the root to it. */
  path: string[];
}

/** Names of an entry's path; none for the root. Throws `bad_request` for one that leads out of the root. */
export function namesOf(path: string): string[] {
  const names = parts(path);
  if (names.includes('..')) throw refused('The archive has an entry that leads out of it.');
  if (names.some((name) => name.length > LONGEST_NAME || name.includes('\0')))
    throw refused('The archive has a name that no file can have.');
  return names;
}

/**
 * The folder at `names`, through links. `make` is called for each missing folder and puts it into its parent. Throws
 * `bad_request` when a file blocks the path, links form a loop, or it is too deep.
 */
export function folderAt(
  root: Folder,
  names: readonly string[],
  make: (parent: TreeLocation, name: string) => Folder,
): TreeLocation {
  const todo = [...names].reverse();
  let place: TreeLocation = { folder: root, path: [] };
  const trail: TreeLocation[] = [];
  let hops = 0;
  for (let steps = 0; todo.length > 0; steps++) {
    if (steps > MOST_STEPS) throw refused('The archive has links that lead nowhere in time.');
    const name = todo.pop() as string;
    if (name === '..') {
      place = trail.pop() ?? place;
      continue;
    }
    const child = place.folder.children.get(name) ?? make(place, name);
    if (child.type === 'link') {
      if (++hops > MOST_HOPS) throw refused('The archive has links that lead in a circle.');
      if (child.target.startsWith('/')) place = { folder: root, path: [] };
      if (child.target.startsWith('/')) trail.length = 0;
      todo.push(...parts(child.target).reverse());
      continue;
    }
    if (child.type !== 'folder') throw refused('The archive has a file where another entry has a folder.');
    if (trail.length >= MOST_DEPTH) throw refused('The archive has folders that lie too deep.');
    trail.push(place);
    place = { folder: child, path: [...place.path, name] };
  }
  return place;
}

const parts = (path: string) => path.split('/').filter((part) => part !== '' && part !== '.');

export function refused(message: string): ServiceError {
  return new ServiceError('bad_request', message, {
    remedy: 'Give an archive of a root file system, as `docker export` makes it.',
  });
}
