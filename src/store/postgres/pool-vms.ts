// VMs of the pool. Pool mode needs the hosts of one server, so with PostgreSQL nothing ever makes one.
import type { PoolStore } from '../seam/pool.ts';

export const noPool: PoolStore = {
  get: async () => undefined,
  all: async () => [],
  running: async () => undefined,
  retire: async () => undefined,
  remove: async () => {},
  usage: async () => ({ vms: 0, users: 0 }),
};
