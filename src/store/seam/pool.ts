// THE STORE SEAM: VMs of the pool. Capacity in one is taken when a sandbox is reserved. store.ts has the rules for all
// tables.
import type { PoolMade, PoolVm } from '../../domain/pool.ts';

export interface PoolStore {
  get(id: string): Promise<PoolVm | undefined>;
  /** Oldest first. */
  all(): Promise<PoolVm[]>;
  /** From `creating` to `running`; undefined if it was not `creating`. */
  running(id: string, made: PoolMade): Promise<PoolVm | undefined>;
  /**
   * To `destroying`, unless it has a sandbox other than `but` that is not `destroying`; always with `lost`. Returns the
   * VM if it is now `destroying`.
   */
  retire(id: string, options?: { but?: string; lost?: boolean }): Promise<PoolVm | undefined>;
  /** Removes a VM that is `destroying`. */
  remove(id: string): Promise<void>;
  /** The number of VMs, and of users with a sandbox in one. */
  usage(): Promise<{ vms: number; users: number }>;
}
