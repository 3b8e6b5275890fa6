// The queue of spawns that wait for capacity (docs/design/api.md#queue): in memory (memory-queue.ts) where one process has the
// store for itself, else over tickets in the store (shared-queue.ts).
import type { Abort } from '../../domain/abort.ts';
import type { QueueCounts } from './counter.ts';
import type { StoredApplicant } from './ticket.ts';

/** The reason for a spawn that was not tried: those before it wait for the same capacity. */
export const BEHIND_OTHERS = 'behind_others';

/** The counts are those of this process, the depth is that of all. */
export interface QueueStats extends QueueCounts {
  depth: number;
}

export interface SpawnQueue {
  /**
   * Runs `attempt` at once where there is room and nobody is overtaken, else waits for its turn. Throws `resource_limit` when it
   * is denied for good, the queue is full or the wait took too long; the reason of `signal` when that aborts while it waits;
   * `unavailable` when the server stops. A successful attempt is never undone.
   */
  admit<T>(applicant: StoredApplicant<T>, signal?: Abort): Promise<T>;
  /**
   * The end of a sandbox is being stored, and a reservation that is asked for now comes after it: both share a commit.
   * Absent where that is not so. `freed` follows.
   */
  freeing?(facts: { owner_id?: string; provider?: string }): void;
  /** A sandbox has ended. */
  freed(facts: { owner_id?: string; provider?: string }): void;
  /** The limits of this owner have changed. */
  quotaChanged(owner_id: string): void;
  /** The limits of all have changed. */
  limitsChanged(): void;
  start(): void;
  /** Refuses queued and new spawns. */
  close(): void;
  /** Closes, and resolves when no work is left. */
  stop(): Promise<void>;
  stats(): Promise<QueueStats>;
}
