// Folders that are created once and never changed, named by a digest of their sources. They appear complete or not at all, also
// when several processes create one at the same time.
import { chmod, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { makeFolders } from '../../host/make-folders.ts';

/** The name holds the pid of its maker, so that remains of a killed one are recognised. */
const UNFINISHED = /^\.new-(\d{1,10})-/;

export interface Cached {
  /** The folder that holds all of a kind; made when it is not there. */
  folder: string;
  /** The digest of the wanted folder. */
  name: string;
  /** Whether the existing folder can be used; otherwise it is created again. */
  isComplete(path: string): Promise<boolean>;
  /** Fills the empty folder at `path`. */
  make(path: string): Promise<void>;
}

/** Path of the folder, everybody may read it. Throws what `make` throws, and `resource_limit` when the disk is full. */
export async function cached({ folder, name, isComplete, make }: Cached): Promise<string> {
  const path = join(folder, name);
  if (await isComplete(path)) return path;
  await makeFolders(folder, 0o755).catch(asFault);
  const fresh = await freshFolder(folder).catch(asFault);
  try {
    await make(fresh);
    await chmod(fresh, 0o755);
    await rm(path, { recursive: true, force: true });
    await rename(fresh, path).catch(async (error: unknown) => {
      // Another process was faster: its folder is as good.
      if (!(await isComplete(path))) throw error;
    });
    return path;
  } catch (error) {
    return asFault(error);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** An empty folder in `folder`, which the caller removes. Remains of killed makers are removed. */
export async function freshFolder(folder: string): Promise<string> {
  for (const name of await readdir(folder)) {
    const [, maker] = UNFINISHED.exec(name) ?? [];
    if (maker && !isAlive(Number(maker))) await rm(join(folder, name), { recursive: true, force: true });
  }
  return mkdtemp(join(folder, `.new-${process.pid}-`));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function asFault(error: unknown): never {
  if (error instanceof ServiceError) throw error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    throw new ServiceError('resource_limit', 'The disk that holds microVMs is full.', {
      cause: error,
      remedy: 'Free space below providers.microvm.data_dir.',
      status: 507,
    });
  throw new ServiceError('provider_error', `Could not write a file for microVMs (${code}).`, {
    cause: error,
    remedy: 'Check providers.microvm.data_dir: the server must own it.',
  });
}
