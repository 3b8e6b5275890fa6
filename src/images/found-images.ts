// Finds the image that a name leads to. A start looks it up twice, and reading two files takes ten turns of another thread, so
// what was found stays until the file of the name changes: a name is always replaced by another file, and goes before its image.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nameFile, type StorePaths, treeFolder } from './store-paths.ts';
import { noteUse, readImage, readName, type StoredImage, type StoredName } from './store-records.ts';

const MOST = 256;
/** A config may have 4 MiB. */
const MOST_BYTES = 64 * 1024;

export interface FoundImage extends StoredName {
  image: StoredImage;
  /** Folder of its tree. */
  tree: string;
}

interface Known {
  file: string;
  found: FoundImage;
}

/** The keys are paths of names. The map keeps the order in which they were added. */
const known = new Map<string, Known>();

/** `name` is complete. Notes the use. Undefined when the store has none. */
export async function findNamed(
  paths: StorePaths,
  name: string,
  now: number,
): Promise<FoundImage | undefined> {
  const path = nameFile(paths, name);
  const facts = await stat(path).catch(() => undefined);
  const file = facts && [facts.dev, facts.ino, facts.size, facts.mtimeMs, facts.ctimeMs].join(' ');
  const last = known.get(path);
  const isKnown = last !== undefined && last.file === file;
  const found = isKnown ? last.found : await readFound(paths, name);
  if (!isKnown) keep(path, file, found);
  if (facts && found) await noteUse(path, facts.mtimeMs, now);
  return found;
}

async function readFound(paths: StorePaths, name: string): Promise<FoundImage | undefined> {
  const stored = await readName(paths, name);
  const image = stored && (await readImage(paths, stored.digest));
  return stored && image && { ...stored, image, tree: join(treeFolder(paths, image.chain_id), 'fs') };
}

function keep(path: string, file: string | undefined, found: FoundImage | undefined): void {
  known.delete(path);
  if (!file || !found || JSON.stringify(found).length > MOST_BYTES) return;
  known.set(path, { file, found });
  for (const first of known.keys()) {
    if (known.size <= MOST) return;
    known.delete(first);
  }
}
