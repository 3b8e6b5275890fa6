// THE STORE SEAM: commands that ran in sandboxes. store.ts has the rules for all tables.

export interface StoredExec {
  sandbox_id: string;
  exec_id: string;
  /** Includes the arguments; secrets are removed. */
  command: string;
  detached: boolean;
  actor: string;
  started_at: string;
  /** Absent while it runs, and for one whose end nobody saw. */
  ended_at?: string;
  exit_code?: number;
  signal?: string;
}

export interface ExecStore {
  /**
   * Stores or replaces each record by sandbox and exec id, as one transaction with relaxed durability like buffered
   * events (docs/design/reliability.md#storage).
   */
  record(execs: StoredExec[]): Promise<void>;
  /** The newest `limit` of a sandbox, newest first. Its row takes them along when it is deleted. */
  list(sandbox_id: string, limit: number): Promise<StoredExec[]>;
  /**
   * Deletes what is not among the newest `mostOfOne` of its sandbox or the newest `most` of all. Returns the number
   * deleted.
   */
  prune(most: number, mostOfOne: number): Promise<number>;
}
