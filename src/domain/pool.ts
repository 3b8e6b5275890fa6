// Slots in a pool (docs/design/api.md#pool): the VM and the uid of a sandbox. Pure; the store calls it inside the
// reservation.

export interface PoolLimits {
  max_vms: number;
  max_users_per_vm: number;
}

/** A VM that can take another sandbox, with those who have one in it. */
export interface PoolCandidate {
  id: string;
  users: number;
  /** The user who asks has one in it. */
  is_users: boolean;
}

/** `existing`: all VMs there are, also those that take no more. Undefined: the pool is full. */
export function choosePlace(
  candidates: readonly PoolCandidate[],
  existing: number,
  { max_vms, max_users_per_vm }: PoolLimits,
): { vm_id: string } | 'new' | undefined {
  const vm =
    candidates.find(({ is_users }) => is_users) ?? candidates.find(({ users }) => users < max_users_per_vm);
  if (vm) return { vm_id: vm.id };
  return existing < max_vms ? 'new' : undefined;
}

/** Above what images give to users of their own, below the 65,536 that a VM may have. */
const FIRST_UID = 20_000;
/** A VM takes no sandbox any more when so many uids were given out since it was made: none comes twice in its life. */
export const POOL_UIDS = 40_000;

/** The uid of the `count`th sandbox of all pools of this database: two VMs that share a kernel rarely share one. */
export function poolUid(count: number): number {
  return FIRST_UID + (count % POOL_UIDS);
}

/** A shared runtime of the pool. Its epoch is always 1. */
export interface PoolVm {
  id: string;
  provider: string;
  state: 'creating' | 'running' | 'destroying';
  /** As of SandboxRecord. */
  image: string;
  memory_mb: number;
  vcpus: number;
  created_at: string;
  /** The token for every spawn in the VM. */
  warnings: string[];
  runtime_id?: string;
}

/** What is known of a VM once it runs. */
export type PoolMade = Required<Pick<PoolVm, 'runtime_id' | 'image' | 'memory_mb' | 'vcpus' | 'warnings'>>;
