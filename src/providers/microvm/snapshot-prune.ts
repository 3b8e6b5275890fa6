// Finds, lists and prunes snapshots. Guests that were started from a removed one keep its files until they end.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RuntimeSnapshot } from '../provider.ts';
import type { MicrovmFolders } from './folders.ts';
import { readSnapshot, recordPath, type Snapshot, type SnapshotFacts } from './snapshot.ts';
import type { MicrovmState } from './state.ts';

/** The most that are kept: each holds the disk that a guest of its size has touched. */
const MOST = 8;
const MADE_OF = [
  ...(['image_identity', 'environment', 'kernel_digest', 'initramfs_digest'] as const),
  ...(['monitor', 'boot_id'] as const),
];
const SHARED = ['kernel_digest', 'initramfs_digest', 'monitor', 'boot_id'] as const;

type Places = Pick<MicrovmFolders, 'snapshots'>;

async function completeSnapshots({ snapshots }: Places): Promise<Snapshot[]> {
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

/** stat(2) counts in these whatever the file system's own blocks are. */
const BLOCK = 512;

/** The oldest first. */
export async function listSnapshots(state: MicrovmState): Promise<RuntimeSnapshot[]> {
  await state.checkDataFolder();
  const snapshots = await completeSnapshots(state.folders);
  const found = await Promise.all(snapshots.map(snapshotOf));
  return found.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
}

async function snapshotOf(snapshot: Snapshot): Promise<RuntimeSnapshot> {
  const { facts, created_at } = snapshot.record;
  const files = [snapshot.memory, snapshot.state, snapshot.overlay].filter((file) => file !== undefined);
  const sizes = await Promise.all(files.map(bytesOn));
  const size = sizes.reduce((sum, bytes) => sum + bytes, 0);
  return { image: facts.image, kernel: facts.kernel, size, created_at };
}

/** Holes take nothing. One that was just removed takes nothing either. */
async function bytesOn(file: string): Promise<number> {
  const facts = await stat(file).catch(() => undefined);
  return (facts?.blocks ?? 0) * BLOCK;
}
