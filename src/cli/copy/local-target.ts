// A local folder or file as the target of a copy out of a sandbox, which may be hostile. Never writes through a link: parts of
// a path must be real folders, files and links are put in place by rename, which replaces a link without following it, and
// links are created after all files. Drops set-id bits, which would grant this user's rights.
import { closeSync, fchmodSync, futimesSync, lstatSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { chmod, lstat, mkdir, open, rm, statfs, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { withLocalErrors } from '../local-failure.ts';
import { sizeText } from '../render.ts';
import { type FileEntry, staysInside, type Target } from './endpoint.ts';

let temporaries = 0;

/** `root` is the user's path with its links resolved; its parent exists. */
export function localTarget(root: string): Target {
  return new LocalTarget(root);
}

class LocalTarget implements Target {
  readonly #root: string;
  /** Folders that are known to be real; only this copy changes them. */
  readonly #folders = new Map<string, Promise<void>>();
  readonly #modes: { path: string; mode: number }[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  async begin(bytes: number): Promise<void> {
    const { bavail, bsize } = await withLocalErrors(statfs(dirname(this.#root)));
    if (bytes <= bavail * bsize) return;
    throw new ServiceError(
      'resource_limit',
      `The disk here has ${sizeText(bavail * bsize)} free, the copy needs ${sizeText(bytes)}.`,
    );
  }

  async folder(at: string, mode: number | undefined): Promise<void> {
    await this.#folder(at, mode);
  }

  async file(
    { at, mode = 0o644, mtime }: FileEntry,
    content: () => Promise<Readable>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#replace(at, async (temporary) => {
      const file = await open(temporary, 'wx', 0o600);
      try {
        await writeFile(file, await content(), { signal });
        await file.chmod(mode & 0o777);
        if (mtime !== undefined) await file.utimes(mtime, mtime);
      } finally {
        await file.close();
      }
    });
  }

  /** Synchronous: for a thousand files, waiting for each call would take most of the time. */
  async small({ at, mode = 0o644, mtime }: FileEntry, content: Buffer): Promise<void> {
    await this.#replace(at, async (temporary) => {
      const fd = openSync(temporary, 'wx', 0o600);
      try {
        writeFileSync(fd, content);
        fchmodSync(fd, mode & 0o777);
        if (mtime !== undefined) futimesSync(fd, mtime, mtime);
      } finally {
        closeSync(fd);
      }
    });
  }

  async link(at: string, to: string): Promise<string | undefined> {
    if (!staysInside(at, to)) return 'the link leads out of what is copied';
    await this.#replace(at, (temporary) => symlink(to, temporary));
    return undefined;
  }

  async end(): Promise<void> {
    const deepestFirst = this.#modes.sort((a, b) => b.path.length - a.path.length);
    for (const { path, mode } of deepestFirst) await withLocalErrors(chmod(path, mode & 0o777));
  }

  /** Creates the entry under a temporary name and renames it over a file or link. */
  async #replace(at: string, make: (temporary: string) => Promise<void>): Promise<void> {
    if (at !== '') await this.#folder(posix.dirname(at) === '.' ? '' : posix.dirname(at), undefined);
    const path = join(this.#root, at);
    const temporary = join(dirname(path), `.svc-cp-${process.pid}-${++temporaries}`);
    try {
      await withLocalErrors(refuseOther(path));
      await withLocalErrors(make(temporary), path);
      await withLocalErrors(moved(temporary, path), path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  #folder(at: string, mode: number | undefined): Promise<void> {
    const known = this.#folders.get(at);
    if (known) return known;
    const made = withLocalErrors(this.#make(at, mode));
    this.#folders.set(at, made);
    return made;
  }

  async #make(at: string, mode: number | undefined): Promise<void> {
    if (at !== '') await this.#folder(posix.dirname(at) === '.' ? '' : posix.dirname(at), undefined);
    const path = join(this.#root, at);
    try {
      await mkdir(path, 0o700);
      this.#modes.push({ path, mode: mode ?? 0o755 });
    } catch (error) {
      if (!(await lstat(path).catch(() => undefined))?.isDirectory()) throw error;
    }
  }
}

async function moved(from: string, to: string): Promise<void> {
  renameSync(from, to);
}

/** Refuses to replace a device or FIFO by a file. */
async function refuseOther(path: string): Promise<void> {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (!facts || facts.isFile() || facts.isSymbolicLink()) return;
  throw new ServiceError('conflict', `${path}: something else with this name exists here.`);
}
