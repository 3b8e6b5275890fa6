// THE STORE SEAM: the control planes that share a store. store.ts has the rules for all tables.

/** One process. */
export interface ReplicaBeats {
  id: string;
  /** Grows as long as the process lives and reaches the store. */
  beats: number;
}

export interface ReplicaStore {
  /** Counts a beat of the process `id` and returns all processes, in one transaction. A repeat is harmless. */
  beat(id: string): Promise<ReplicaBeats[]>;
  /** Forgets a process that stopped. Its next beat would add it again. Idempotent. */
  remove(id: string): Promise<void>;
}
