// What a worker remembers across a kill: its sandboxes and the lease generations it has seen. It is on the worker's own
// disk; the control plane's database does not know it.
import type { Instance } from '../store.ts';

/** The actual values of a runtime, for a repeated spawn. */
export interface MadeRuntime {
  runtime_id: string;
  image: string;
  memory_mb: number;
  vcpus: number;
  warnings: string[];
  image_digest?: string;
}

export interface WorkerSandboxRecord {
  sandbox_id: string;
  provider: string;
  /** The generation of the lease that started it; its runtime's label contains it. */
  epoch: number;
  /** The highest generation seen. */
  generation: number;
  /**
   * `starting` before the provider is called, `ending` before it is asked to destroy. `ended` is kept for a while to
   * refuse late calls.
   */
  state: 'starting' | 'running' | 'ending' | 'ended';
  made?: MadeRuntime | undefined;
  /** ISO 8601 by the wall clock: the deadlines after a restart. */
  lease_ends_at: string;
  sandbox_ends_at: string;
  /** When this record was written. */
  noted_at: string;
}

/** Held by one process. Every method is one durable transaction; rejects with a ServiceError. */
export interface WorkerJournal {
  /** Created with the journal: the label of this worker's runtimes on this host. */
  readonly instance: Pick<Instance, 'id' | 'key'>;
  all(): Promise<WorkerSandboxRecord[]>;
  /** Replaces the record of the sandbox. */
  put(record: WorkerSandboxRecord): Promise<void>;
  /** Deletes `ended` records written before a time (ISO 8601). */
  forget(before: string): Promise<void>;
  /** Resolves when nothing can be written and only a restart helps. */
  lost: Promise<Error>;
  /** Idempotent. */
  close(): Promise<void>;
}
