// Files that sandboxes see, each written once for its content.
import { createHash } from 'node:crypto';
import { lstat, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../../domain/ports.ts';
import { makeFolders } from '../../host/make-folders.ts';
import type { InstanceFolders } from '../local/instance-folders.ts';

export interface Place {
  folders: Pick<InstanceFolders, 'instance'>;
  random: Random;
}

const folderOf = ({ instance }: Pick<InstanceFolders, 'instance'>) => join(instance, 'kept');

/** The path of a file with this content. Idempotent. */
export async function keptFile({ folders, random }: Place, ending: string, text: string): Promise<string> {
  const name = `${createHash('sha256').update(text).digest('hex').slice(0, 32)}.${ending}`;
  const path = join(folderOf(folders), name);
  if (await lstat(path).catch(() => undefined)) return path;
  await makeFolders(folderOf(folders), 0o711);
  const part = `${path}.${random.bytes(8).toString('hex')}`;
  await writeFile(part, text, { mode: 0o644 });
  await rename(part, path);
  return path;
}

/** Running sandboxes keep the files that they have. */
export const forgetKeptFiles = (folders: Pick<InstanceFolders, 'instance'>): Promise<void> =>
  rm(folderOf(folders), { recursive: true, force: true });
