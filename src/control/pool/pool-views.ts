// The usage of the pool. Its VMs are not shown individually.
import type { PoolStore } from '../../store/seam/pool.ts';
import type { PoolViews } from '../api/system.ts';
import type { Settings } from '../records/settings.ts';

export function poolViews(deps: { settings: Settings; pool: Pick<PoolStore, 'usage'> }): PoolViews {
  const limits = deps.settings.pool;
  return {
    status: async () => {
      if (!limits) return { enabled: false };
      const { max_vms, max_users_per_vm } = limits;
      const { vms, users } = await deps.pool.usage();
      return { enabled: true, vms, max_vms, total_users: users, max_users_per_vm };
    },
  };
}
