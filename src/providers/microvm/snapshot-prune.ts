// Finds and prunes snapshots. Guests that were started from a removed one keep its files until they end.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MicrovmFolders } from './folders.ts';
import { readSnapshot, recordPath, type Snapshot, type SnapshotFacts } from './snapshot.ts';

/** The most that are kept: each holds the disk that a guest of its size has touched. */
const MOST = 8;
const MADE_OF = ['image_identity', 'kernel_digest', 'initramfs_digest', 'monitor', 'boot_id'] as const;
const SHARED = ['kernel_digest', 'initramfs_digest', 'monitor', 'boot_id'] as const;

type Places = Pick<MicrovmFolders, 'snapshots'>;

export async function completeSnapshots({ snapshots }: Places): Promise<Snapshot[]> {
  const keys = await readdir(snapshots).catch(() => []);
  const found = await Promise.all(keys.map((key) => readSnapshot(join(snapshots, key))));
  return found.filter((snapshot) => snapshot !== undefined);
}

/**
 * Removes incomplete and replaced snapshots, those of another boot or program, and the longest unused; never one that is being
 * made.
 */
export async function pruneSnapshots(
  folders: Places,
  made: Snapshot,
  isMaking: (key: string) => boolean,
): Promise<void> {
  const complete = await completeSnapshots(folders);
  const fit = complete.filter(({ record }) => !isOutdated(record.facts, made.record.facts));
  const used = await Promise.all(
    fit.map(async ({ key, folder }) => ({ key, at: (await stat(recordPath(folder))).mtimeMs })),
  );
  const kept = used.sort((a, b) => b.at - a.at).slice(0, MOST);
  for (const key of await readdir(folders.snapshots))
    if (!isMaking(key) && key !== made.key && !kept.some((each) => each.key === key))
      await rm(join(folders.snapshots, key), { recursive: true, force: true });
}

function isOutdated(old: SnapshotFacts, now: SnapshotFacts): boolean {
  return (old.image === now.image ? MADE_OF : SHARED).some((part) => old[part] !== now[part]);
}
