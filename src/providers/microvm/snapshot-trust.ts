// Judges a snapshot after a failed restore. Most often the snapshot is fine: the machine was short of time or memory.
import { ServiceError } from '../../domain/errors.ts';
import { readSnapshot, type Snapshot } from './snapshot.ts';

/**
 * `spoilt`: the files changed, or two different sandboxes in a row could not be restored. `sound`: one sandbox could not.
 * `unknown`: the machine was short of something. `replaced`: it was replaced or removed.
 */
export type Verdict = 'spoilt' | 'sound' | 'unknown' | 'replaced';

export function snapshotTrust(isThere: (path: string) => Promise<boolean>) {
  /** The last sandbox that could not be restored, by key. */
  const doubts = new Map<string, string>();
  return {
    /** Records a successful restore, which clears earlier doubts. */
    gain: ({ key }: Snapshot) => void doubts.delete(key),
    /** Judges the failed restore of sandbox `id`. */
    judge: async (snapshot: Snapshot, id: string, error: unknown): Promise<Verdict> => {
      const { key, folder } = snapshot;
      const now = await readSnapshot(folder);
      const isSame = now !== undefined && JSON.stringify(now.record) === JSON.stringify(snapshot.record);
      if (now ? !isSame : !(await isThere(folder))) return 'replaced';
      if (now && isWant(error)) return 'unknown';
      const before = doubts.get(key);
      const isSpoilt = !now || (before !== undefined && before !== id);
      if (isSpoilt) doubts.delete(key);
      else doubts.set(key, id);
      return isSpoilt ? 'spoilt' : 'sound';
    },
  };
}

/**
 * Whether the machine was short of time, space or memory. QEMU's words: "cannot set up guest memory 'memory': Cannot allocate
 * memory".
 */
function isWant(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  const words = error.cause instanceof Error ? error.cause.message : '';
  return ['timeout', 'resource_limit'].includes(error.code) || /allocate memory/i.test(words);
}
