// THE STORE SEAM: which sandbox has which runtime of a service that names runtimes itself, where several control planes share a
// store. store.ts has the rules for all tables.
//
// What a sandbox has is its own as long as its row, or that of the prewarmed sandbox, has not ended.

export interface RuntimeStore {
  /**
   * Forgets what sandboxes have had that ended, and takes over what rows of the provider say: those of programs that do not use this
   * table. Idempotent.
   */
  adopt(provider: string): Promise<void>;
  /**
   * Gives the runtime to a sandbox whose row is stored, unless another one has it. Returns the id of the one that has it. Of two
   * at the same time one gets it. Idempotent.
   */
  assign(provider: string, runtime_id: string, sandbox_id: string): Promise<string>;
  /** The id of the sandbox that has it; undefined if none. */
  find(provider: string, runtime_id: string): Promise<string | undefined>;
  /** The sandbox has none any more. Idempotent. */
  release(sandbox_id: string): Promise<void>;
}
