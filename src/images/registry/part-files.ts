// Layers while they are fetched: one file for each digest, which one pull of this machine at a time may write. The next
// pull continues a file that a killed one left.
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type LockDeps, lockInStore } from '../store-lock.ts';
import { hexOf, type StorePaths } from '../store-paths.ts';
import { entriesOf } from '../store-records.ts';

const PAUSE_MS = 200;
const ENDING = '.part';
/** The ending where credentials may have been needed: pulls without them do not continue these files. */
const PRIVATE_ENDING = `.private${ENDING}`;

export interface PartFile {
  path: string;
  file: FileHandle;
  /** Leaves what is there for a later pull. */
  release(): Promise<void>;
  /** Removes the file. */
  discard(): Promise<void>;
}

/** Waits until no other pull fetches these bytes. Undefined as soon as `isNeeded` is false. */
export async function takePart(
  { agent, clock, paths, isPrivate }: LockDeps & { isPrivate: boolean },
  digest: string,
  signal: AbortSignal,
  isNeeded: () => Promise<boolean>,
): Promise<PartFile | undefined> {
  const path = join(paths.blobs, `${hexOf(digest)}${isPrivate ? PRIVATE_ENDING : ENDING}`);
  while (await isNeeded()) {
    const file = await open(path, 'a+', 0o600);
    // The file that is locked may have been removed by the pull that had it.
    if ((await lockInStore(agent, file.fd)) && (await isAt(path, file))) return partFile(path, file);
    await file.close();
    await clock.sleep(PAUSE_MS, signal);
  }
  return undefined;
}

function partFile(path: string, file: FileHandle): PartFile {
  return {
    path,
    file,
    release: () => file.close(),
    async discard() {
      await rm(path, { force: true });
      await file.close();
    },
  };
}

async function isAt(path: string, file: FileHandle): Promise<boolean> {
  const [there, own] = await Promise.all([stat(path).catch(() => undefined), file.stat()]);
  return there?.ino === own.ino;
}

/** Removes files that nobody fetches, and that nobody has written to since `before` (ms since 1970). Never waits. */
export async function sweepParts(agent: string, paths: StorePaths, before: number): Promise<void> {
  for (const name of await entriesOf(paths.blobs)) {
    const path = join(paths.blobs, name);
    const facts = await stat(path).catch(() => undefined);
    if (!name.endsWith(ENDING) || !facts || facts.mtimeMs >= before) continue;
    const file = await open(path, 'r').catch(() => undefined);
    if (file && (await lockInStore(agent, file.fd))) await rm(path, { force: true });
    await file?.close();
  }
}
