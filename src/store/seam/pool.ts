// THE STORE SEAM: VMs of the pool. A place in one is taken with the reservation of a sandbox. store.ts says what holds for all.
import type { PoolMade, PoolVm } from '../../domain/pool.ts';

export interface PoolStore {
  get(id: string): Promise<PoolVm | undefined>;
  /** Oldest first. */
  all(): Promise<PoolVm[]>;
  /** From `creating` to `running`; undefined when it was not `creating`. */
  running(id: string, made: PoolMade): Promise<PoolVm | undefined>;
  /** To `destroying`, unless a sandbox is in it that is neither that nor `but`; with `lost` always. The VM if it is now. */
  retire(id: string, options?: { but?: string; lost?: boolean }): Promise<PoolVm | undefined>;
  /** Forgets one that is `destroying`. */
  remove(id: string): Promise<void>;
  /** VMs there are, and users who have a sandbox in one. */
  usage(): Promise<{ vms: number; users: number }>;
}
