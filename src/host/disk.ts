// Files and file systems as an operator's checks look at them: small looks, nothing kept, nothing left behind.
import { constants } from 'node:fs';
import { access, link, mkdtemp, open, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileSystemFacts } from './host.ts';
import { realRandom } from './random.ts';

const SMALL_BYTES = 4096;

/** What `look` finds, or undefined where nothing is. Rejects as `fs` does for any other reason. */
export async function ifThere<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** The seam's `read`; rejects as `fs` does. Files of /proc have no size, so it reads until nothing comes. */
export async function readHead(path: string, maxBytes: number): Promise<Buffer | undefined> {
  const file = await ifThere(() => open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  if (!file) return undefined;
  try {
    const head = Buffer.alloc(maxBytes);
    let size = 0;
    for (let read = 1; read > 0 && size < maxBytes; size += read)
      read = (await file.read(head, size, maxBytes - size, null)).bytesRead;
    return head.subarray(0, size);
  } finally {
    await file.close();
  }
}

export function mayWrite(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** The seam's `tryFolder`; rejects as `fs` does. Rights alone do not say it: nobody makes folders in /proc. */
export async function tryFolder(folder: string): Promise<void> {
  await rmdir(await mkdtemp(join(folder, '.svc-doctor-')));
}

/** The seam's `tryLink`; rejects as `fs` does. */
export async function tryLink(folder: string): Promise<void> {
  const own = await mkdtemp(join(folder, '.svc-doctor-'));
  try {
    await writeFile(join(own, 'one'), '');
    await link(join(own, 'one'), join(own, 'other'));
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** The seam's `fileSystem`; rejects as `fs` does. */
export async function fileSystem(path: string): Promise<FileSystemFacts> {
  const { bavail, blocks, bsize, type } = await statfs(path);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, type };
}

/** The seam's `timeSyncs`; rejects as `fs` does. */
export async function timeSyncs(folder: string, count: number): Promise<number[]> {
  const path = join(folder, `.svc-doctor-${realRandom().bytes(6).toString('hex')}`);
  const file = await open(path, 'wx', 0o600);
  try {
    const times: number[] = [];
    for (let round = 0; round < count; round++) {
      const before = performance.now();
      await file.write(Buffer.alloc(SMALL_BYTES, round));
      await file.datasync();
      times.push(performance.now() - before);
    }
    return times;
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

/**
 * Returns a text that identifies a file with its content: it differs after the file was changed or replaced. Reads no content.
 * Undefined if the file does not exist.
 */
export async function fileIdentity(path: string): Promise<string | undefined> {
  const facts = await stat(path).catch(() => undefined);
  if (!facts?.isFile()) return undefined;
  return [path, facts.dev, facts.ino, facts.size, facts.mtimeMs, facts.ctimeMs].join(' ');
}
