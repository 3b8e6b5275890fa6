// What a guest that did not go on says about its snapshot. Most often nothing: the machine was short of time or memory.
import { ServiceError } from '../../domain/errors.ts';
import { readSnapshot, type Snapshot } from './snapshot.ts';

/**
 * `spoilt`: it is not what was saved, or two sandboxes in a row could not go on from it. `sound`: one sandbox could not.
 * `unknown`: the machine lacked something. `replaced`: another one stands in its place, or none.
 */
export type Verdict = 'spoilt' | 'sound' | 'unknown' | 'replaced';

export interface SnapshotTrust {
  /** A guest went on from it: what was before is forgiven. */
  gain(snapshot: Snapshot): void;
  /** Sandbox `id` did not go on from it. */
  judge(snapshot: Snapshot, id: string, error: unknown): Promise<Verdict>;
}

export function snapshotTrust(isThere: (path: string) => Promise<boolean>): SnapshotTrust {
  /** By key: the last sandbox that could not go on. */
  const doubts = new Map<string, string>();
  return {
    gain: ({ key }) => void doubts.delete(key),
    judge: async (snapshot, id, error) => {
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

/** Of time, of room, or of memory, as QEMU says it: "cannot set up guest memory 'memory': Cannot allocate memory". */
function isWant(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  const words = error.cause instanceof Error ? error.cause.message : '';
  return ['timeout', 'resource_limit'].includes(error.code) || /allocate memory/i.test(words);
}
