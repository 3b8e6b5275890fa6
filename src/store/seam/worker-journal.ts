// What a worker must not forget when it is killed: the sandboxes it was given, and the generations it has seen. On the
// worker's own disk; the control plane's database knows nothing of it.
import type { Instance } from '../store.ts';

/** What a runtime really is, for a spawn that is asked for again. */
export interface MadeRuntime {
  runtime_id: string;
  image: string;
  memory_mb: number;
  vcpus: number;
  warnings: string[];
}

export interface WorkerSandboxRecord {
  sandbox_id: string;
  provider: string;
  /** Generation of the lease that it was started under; its runtime's label has it. */
  epoch: number;
  /** The highest seen. */
  generation: number;
  /**
   * `starting` from before the provider is asked, `ending` from before it is asked to destroy. `ended` is kept for a while:
   * it refuses what is late.
   */
  state: 'starting' | 'running' | 'ending' | 'ended';
  made?: MadeRuntime | undefined;
  /** ISO 8601, by the wall clock: all that is left of the deadlines after a restart. */
  lease_ends_at: string;
  sandbox_ends_at: string;
  /** When this was written. */
  noted_at: string;
}

/** Held by one process alone. Every method is one transaction, durable when it resolves; rejects with a ServiceError. */
export interface WorkerJournal {
  /** Made with the journal: whose the runtimes on this host are. */
  readonly instance: Pick<Instance, 'id' | 'key'>;
  all(): Promise<WorkerSandboxRecord[]>;
  /** In place of what is known of the sandbox. */
  put(record: WorkerSandboxRecord): Promise<void>;
  /** Those that `ended` and were noted before a moment (ISO 8601). */
  forget(before: string): Promise<void>;
  /** Resolves when nothing can be written any more and only a new start helps. */
  lost: Promise<Error>;
  /** Idempotent. */
  close(): Promise<void>;
}
