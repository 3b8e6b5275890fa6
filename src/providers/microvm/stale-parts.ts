// Removes kernels and first roots of earlier packages and agents below data_dir. Each is tens of megabytes and can be created
// again. Several servers may share the folder, so only parts that were unused for a day are removed.
import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../domain/ports.ts';
import { ifOurs, ifPresent } from '../local/presence.ts';
import { allProcesses, commandWords } from '../local/processes.ts';
import type { MicrovmDeps } from './folders.ts';
import type { Machinery } from './machinery.ts';
import { readSnapshotFacts } from './snapshot.ts';

const DAY_MS = 24 * 3_600_000;
/** Far below a day. */
const MARKED_MS = 3_600_000;

interface StaleParts {
  clock: Clock;
  /** `providers.microvm.data_dir` */
  dataFolder: string;
  /** What this server starts guests with. */
  machinery: Pick<Machinery, 'kernel' | 'initramfs'>;
}

/** Removes old parts once; marks ours as used hourly, and when they change. The returned function never rejects. */
export function partsTended(
  deps: Pick<MicrovmDeps, 'clock' | 'logger'> & { config: Pick<MicrovmDeps['config'], 'data_dir'> },
): (machinery: StaleParts['machinery']) => Promise<void> {
  const { clock, config, logger } = deps;
  let marked: { what: string; until: number } | undefined;
  return async (machinery) => {
    const what = foldersOf(machinery).join(' ');
    if (marked?.what === what && clock.monotonic() < marked.until) return;
    const tend = marked ? touchParts : pruneParts;
    marked = { what, until: clock.monotonic() + MARKED_MS };
    await tend({ clock, dataFolder: config.data_dir, machinery }).catch((error: unknown) => {
      logger.warn({ err: error }, 'Could not remove unused VM kernels; leaving them on disk.');
    });
  };
}

/**
 * Marks this server's parts as used now. No server removes them within a day, which is enough for a monitor that reads both at
 * its start and does not name them, as Firecracker does. Parts of another user stay unmarked.
 */
async function touchParts({ clock, machinery }: StaleParts): Promise<void> {
  const now = clock.now() / 1000;
  for (const folder of foldersOf(machinery)) await utimes(folder, now, now).catch(() => undefined);
}

/** Removes parts that no running guest, no snapshot of any server and not `machinery` uses. Throws system errors. */
export async function pruneParts(parts: StaleParts): Promise<void> {
  const { dataFolder, machinery } = parts;
  await touchParts(parts);
  const own = foldersOf(machinery);
  const old = [...(await oldIn(parts, 'kernels')), ...(await oldIn(parts, 'initramfs'))];
  const candidates = old.filter((folder) => !own.includes(folder));
  if (candidates.length === 0) return;
  const digests = await digestsOfSnapshots(join(dataFolder, 'templates'));
  // QEMU's arguments name its kernel and first root.
  const words = (await Promise.all((await allProcesses()).map(commandWords))).flat();
  for (const folder of candidates) {
    const isRun = words.some((word) => word.includes(folder));
    if (!isRun && !(await isSaved(folder, digests))) await rm(folder, { recursive: true, force: true });
  }
}

function foldersOf({ kernel, initramfs }: StaleParts['machinery']): string[] {
  return [kernel, initramfs].map(({ path }) => dirname(path));
}

async function oldIn({ clock, dataFolder }: StaleParts, kind: string): Promise<string[]> {
  const root = join(dataFolder, kind);
  const names = await readdir(root).catch(() => []);
  const folders = names.filter((name) => !name.startsWith('.')).map((name) => join(root, name));
  const ages = await Promise.all(folders.map((folder) => stat(folder).catch(() => undefined)));
  return folders.filter((_, at) => clock.now() - (ages[at]?.mtimeMs ?? Number.POSITIVE_INFINITY) > DAY_MS);
}

async function digestsOfSnapshots(root: string): Promise<string[]> {
  const instances = (await ifPresent(readdir(root))) ?? [];
  const folders = await Promise.all(
    instances.map(async (name) => {
      const keys = (await ifOurs(readdir(join(root, name)))) ?? [];
      return keys.map((key) => join(root, name, key));
    }),
  );
  const facts = await Promise.all(folders.flat().map(readSnapshotFacts));
  return facts.flatMap((each) => (each ? [each.kernel_digest, each.initramfs_digest] : []));
}

/** A kernel's folder is named by its digest, a first root's has it beside it. */
async function isSaved(folder: string, digests: readonly string[]): Promise<boolean> {
  const own = await ifPresent(readFile(join(folder, 'digest'), 'utf8'));
  const name = basename(folder).replace(/^\d+-/, '');
  return digests.some((digest) => (own === undefined ? digest.startsWith(name) : digest === own));
}
