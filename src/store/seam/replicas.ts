// THE STORE SEAM: the control planes (replicas) that share a store, and the roles that one of them has at a time. store.ts has
// the rules for all tables.
//
// A process beats each second. It is alive while others see its beats grow. A role belongs to the process that its row names.
// Nothing is fenced by time: a role only saves work, and two processes may believe for seconds that they have it. What a role
// does must be harmless when done twice (compare-and-swap on rows).

/**
 * - `upkeep`: ends expired and lost sandboxes, deletes old records, finishes the work of dead replicas.
 * - `desk`: admits spawns that wait.
 * - `warm`: keeps prewarmed sandboxes.
 */
export const ROLES = ['upkeep', 'desk', 'warm'] as const;
export type RoleName = (typeof ROLES)[number];

/** What a process says about itself. */
export interface ReplicaFacts {
  id: string;
  /** Where operators reach it. */
  url: string;
  version: string;
  /** Equal where the configurations that all replicas must share are equal. */
  config_print: string;
  started_at: string;
}

/** One process. `beats` grows as long as it lives and reaches the store. */
export interface ReplicaRecord extends ReplicaFacts {
  beats: number;
}

export interface RoleRecord {
  name: RoleName;
  /** A process; absent: nobody has the role. */
  holder?: string;
  /** Grows with each beat of its holder and with each take. */
  beats: number;
}

export interface SignsOfLife {
  /** All processes, this one included. */
  replicas: ReplicaRecord[];
  /** All roles, as they are after the beat. */
  roles: RoleRecord[];
}

export interface ReplicaStore {
  /** Whether several processes may use the store. If not, this process has all roles, and nobody else beats. */
  readonly isShared: boolean;
  /** Counts a beat of the process and of each role that it has, in one transaction. A repeat is harmless. */
  beat(self: ReplicaFacts): Promise<SignsOfLife>;
  /** Forgets a process that stopped. Its next beat would add it again. Idempotent. */
  remove(id: string): Promise<void>;
}

export interface RoleStore {
  /**
   * Gives the role to `holder` if its row is still as `seen` (compare-and-swap on holder and beats). False, with nothing
   * written, if not. After an unknown outcome the next beat shows whether it was written.
   */
  take(seen: RoleRecord, holder: string): Promise<boolean>;
  /** Gives back each role of `holder`, so that others need not wait. Idempotent. */
  release(holder: string): Promise<void>;
}
